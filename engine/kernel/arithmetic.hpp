#pragma once
// What the operators of engine/kernel/expression.hpp compute, shared by folding, evaluation and the compiled form so that they cannot
// disagree.

#include <cstdint>
#include <limits>
#include <span>

#include "engine/kernel/expression.hpp"

namespace hone::kernel {

constexpr int arity(Operator op) {
  switch (op) {
    case Operator::kConstant:
    case Operator::kVariable:
      return 0;
    case Operator::kNegate:
    case Operator::kNot:
    case Operator::kComplement:
    case Operator::kToInteger:
    case Operator::kToReal:
    case Operator::kToBoolean:
      return 1;
    case Operator::kSelect:
      return 3;
    default:
      return 2;
  }
}

constexpr bool is_comparison(Operator op) { return op >= Operator::kLess && op <= Operator::kNotEqual; }
constexpr bool is_logic(Operator op) { return op == Operator::kLogicalAnd || op == Operator::kLogicalOr; }

/// Two's complement wraps: an overflow in a kernel file's geometry is the author's error, but never undefined behaviour of the engine.
constexpr std::int64_t wrap(std::uint64_t v) { return static_cast<std::int64_t>(v); }
constexpr std::int64_t wrap_add(std::int64_t a, std::int64_t b) {
  return wrap(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
constexpr std::int64_t wrap_subtract(std::int64_t a, std::int64_t b) {
  return wrap(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
constexpr std::int64_t wrap_multiply(std::int64_t a, std::int64_t b) {
  return wrap(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
/// b is not 0. The one quotient that does not fit (lowest / -1) wraps too.
constexpr std::int64_t wrap_divide(std::int64_t a, std::int64_t b) { return b == -1 ? wrap_subtract(0, a) : a / b; }
constexpr std::int64_t wrap_remainder(std::int64_t a, std::int64_t b) { return b == -1 ? 0 : a % b; }
constexpr bool shift_fits(std::int64_t by) { return by >= 0 && by < 64; }
constexpr std::int64_t wrap_shift_left(std::int64_t a, std::int64_t by) { return wrap(static_cast<std::uint64_t>(a) << by); }
constexpr bool fits_integer(double v) { return v >= -9223372036854775808.0 && v < 9223372036854775808.0; }

/// Computes any operator but kConstant, kVariable, &&, || and ?:, of one operand or of two. Returns nullptr, or why there is no value.
const char* apply(Operator op, const Value& operand, Value& result);
const char* apply(Operator op, const Value& first, const Value& second, Value& result);
const char* apply(Operator op, std::span<const Value> operands, Value& result);

}  // namespace hone::kernel
