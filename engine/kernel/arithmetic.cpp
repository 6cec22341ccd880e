#include "engine/kernel/arithmetic.hpp"

namespace hone::kernel {
namespace {

constexpr const char* kDivisionByZero = "division by zero";
constexpr const char* kShiftOverflow = "a shift by less than 0 or more than 63 bits";
constexpr const char* kRealOverflow = "a real number that no 64-bit integer holds";
constexpr const char* kIntegerOnly = "an integer operator applied to a real number";

template <class N>
bool compare(Operator op, N a, N b) {
  switch (op) {
    case Operator::kLess:
      return a < b;
    case Operator::kLessEqual:
      return a <= b;
    case Operator::kGreater:
      return a > b;
    case Operator::kGreaterEqual:
      return a >= b;
    case Operator::kEqual:
      return a == b;
    default:
      return a != b;
  }
}

const char* apply_real(Operator op, double a, double b, Value& result) {
  switch (op) {
    case Operator::kAdd:
      result = a + b;
      return nullptr;
    case Operator::kSubtract:
      result = a - b;
      return nullptr;
    case Operator::kMultiply:
      result = a * b;
      return nullptr;
    case Operator::kDivide:
      if (b == 0.0) {
        return kDivisionByZero;
      }
      result = a / b;
      return nullptr;
    default:
      return kIntegerOnly;
  }
}

const char* apply_division(Operator op, std::int64_t a, std::int64_t b, Value& result) {
  if (b == 0) {
    return kDivisionByZero;
  }
  result = op == Operator::kDivide ? wrap_divide(a, b) : wrap_remainder(a, b);
  return nullptr;
}

const char* apply_shift(Operator op, std::int64_t a, std::int64_t by, Value& result) {
  if (!shift_fits(by)) {
    return kShiftOverflow;
  }
  result = op == Operator::kShiftLeft ? wrap_shift_left(a, by) : a >> by;
  return nullptr;
}

const char* apply_integer(Operator op, std::int64_t a, std::int64_t b, Value& result) {
  switch (op) {
    case Operator::kAdd:
      result = wrap_add(a, b);
      return nullptr;
    case Operator::kSubtract:
      result = wrap_subtract(a, b);
      return nullptr;
    case Operator::kMultiply:
      result = wrap_multiply(a, b);
      return nullptr;
    case Operator::kDivide:
    case Operator::kRemainder:
      return apply_division(op, a, b, result);
    case Operator::kShiftLeft:
    case Operator::kShiftRight:
      return apply_shift(op, a, b, result);
    case Operator::kAnd:
      result = a & b;
      return nullptr;
    case Operator::kOr:
      result = a | b;
      return nullptr;
    default:
      result = a ^ b;
      return nullptr;
  }
}

}  // namespace

const char* apply(Operator op, const Value& a, Value& result) {
  const bool real = a.kind() == Value::Kind::kReal;
  switch (op) {
    case Operator::kNegate:
      result = real ? Value(-a.real()) : Value(wrap_subtract(0, a.integer()));
      return nullptr;
    case Operator::kNot:
      result = !a.boolean();
      return nullptr;
    case Operator::kComplement:
      if (real) {
        return kIntegerOnly;
      }
      result = ~a.integer();
      return nullptr;
    case Operator::kToInteger:
      if (real && !fits_integer(a.real())) {
        return kRealOverflow;
      }
      result = a.integer();
      return nullptr;
    case Operator::kToReal:
      result = a.real();
      return nullptr;
    default:
      result = a.boolean();
      return nullptr;
  }
}

const char* apply(Operator op, const Value& a, const Value& b, Value& result) {
  const bool real = a.kind() == Value::Kind::kReal || b.kind() == Value::Kind::kReal;
  if (is_comparison(op)) {
    result = real ? compare(op, a.real(), b.real()) : compare(op, a.integer(), b.integer());
    return nullptr;
  }
  return real ? apply_real(op, a.real(), b.real(), result) : apply_integer(op, a.integer(), b.integer(), result);
}

const char* apply(Operator op, std::span<const Value> operands, Value& result) {
  return arity(op) == 1 ? apply(op, operands[0], result) : apply(op, operands[0], operands[1], result);
}

}  // namespace hone::kernel
