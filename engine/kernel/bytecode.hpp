#pragma once
// The instructions of CompiledExpression. Types are static (variables are integers), so each operation is known to be integer or real
// when it is compiled. The top of the stack lives in a register, and right operands come straight from a slot or a constant if they can.

#include <bit>
#include <cstddef>
#include <cstdint>

namespace hone::kernel {

enum class Code : std::uint8_t {
  kPush,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kRemainder,
  kShiftLeft,
  kShiftRight,
  kAnd,
  kOr,
  kXor,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kRealAdd,
  kRealSubtract,
  kRealMultiply,
  kRealDivide,
  kRealLess,
  kRealLessEqual,
  kRealGreater,
  kRealGreaterEqual,
  kRealEqual,
  kRealNotEqual,
  kNegate,
  kNot,
  kComplement,
  kToBoolean,
  kRealNegate,
  kToReal,
  kToInteger,
  kRealToBoolean,
  kJumpFalseKeep,
  kJumpTrueKeep,
  kJumpFalse,
  kJump,
  kEnd,
};

/// Where the right operand of a binary operation (or a pushed value) comes from: the two highest bits of an instruction.
enum class Source : std::uint8_t { kStack = 0, kSlot = 1, kConstant = 2 };
constexpr int kSourceShift = 6;
constexpr std::uint8_t kCodeMask = 0x3f;

constexpr std::size_t kStackSize = 64;

inline double as_real(std::int64_t bits) { return std::bit_cast<double>(bits); }
inline std::int64_t as_bits(double real) { return std::bit_cast<std::int64_t>(real); }

}  // namespace hone::kernel
