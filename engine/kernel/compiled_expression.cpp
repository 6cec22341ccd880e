// The stack machine that runs a CompiledExpression.

#include <cstring>

#include "engine/kernel/arithmetic.hpp"
#include "engine/kernel/bytecode.hpp"
#include "engine/kernel/expression.hpp"

namespace hone {
namespace {

using kernel::as_bits;
using kernel::as_real;
using kernel::Code;
using kernel::kCodeMask;
using kernel::kSourceShift;
using kernel::kStackSize;
using kernel::Source;

template <class T>
T read(const std::uint8_t*& at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  at += sizeof value;
  return value;
}

}  // namespace

std::int64_t CompiledExpression::operator()(std::span<const std::int64_t> values) const {
  std::int64_t stack[kStackSize];  // not initialised: each entry is written before it is read
  std::int64_t* below = stack;     // what lies under `top`
  std::int64_t top = 0;
  const std::uint8_t* at = code_.data();
  for (;;) {
    const std::uint8_t instruction = *at++;
    const auto code = static_cast<Code>(instruction & kCodeMask);
    std::int64_t right = 0, left = top;
    if (code <= Code::kRealNotEqual) {
      switch (static_cast<Source>(instruction >> kSourceShift)) {
        case Source::kStack:
          right = top;
          left = *--below;
          break;
        case Source::kSlot:
          right = values[read<std::uint16_t>(at)];
          break;
        default:
          right = constants_[read<std::uint16_t>(at)];
          break;
      }
    }
    switch (code) {
      case Code::kPush:
        *below++ = top;
        top = right;
        break;
      case Code::kAdd:
        top = kernel::wrap_add(left, right);
        break;
      case Code::kSubtract:
        top = kernel::wrap_subtract(left, right);
        break;
      case Code::kMultiply:
        top = kernel::wrap_multiply(left, right);
        break;
      case Code::kDivide:
      case Code::kRemainder:
        if (right == 0) {
          return 0;
        }
        top = code == Code::kDivide ? kernel::wrap_divide(left, right) : kernel::wrap_remainder(left, right);
        break;
      case Code::kShiftLeft:
      case Code::kShiftRight:
        if (!kernel::shift_fits(right)) {
          return 0;
        }
        top = code == Code::kShiftLeft ? kernel::wrap_shift_left(left, right) : left >> right;
        break;
      case Code::kAnd:
        top = left & right;
        break;
      case Code::kOr:
        top = left | right;
        break;
      case Code::kXor:
        top = left ^ right;
        break;
      case Code::kLess:
        top = left < right;
        break;
      case Code::kLessEqual:
        top = left <= right;
        break;
      case Code::kGreater:
        top = left > right;
        break;
      case Code::kGreaterEqual:
        top = left >= right;
        break;
      case Code::kEqual:
        top = left == right;
        break;
      case Code::kNotEqual:
        top = left != right;
        break;
      case Code::kRealAdd:
        top = as_bits(as_real(left) + as_real(right));
        break;
      case Code::kRealSubtract:
        top = as_bits(as_real(left) - as_real(right));
        break;
      case Code::kRealMultiply:
        top = as_bits(as_real(left) * as_real(right));
        break;
      case Code::kRealDivide:
        if (as_real(right) == 0.0) {
          return 0;
        }
        top = as_bits(as_real(left) / as_real(right));
        break;
      case Code::kRealLess:
        top = as_real(left) < as_real(right);
        break;
      case Code::kRealLessEqual:
        top = as_real(left) <= as_real(right);
        break;
      case Code::kRealGreater:
        top = as_real(left) > as_real(right);
        break;
      case Code::kRealGreaterEqual:
        top = as_real(left) >= as_real(right);
        break;
      case Code::kRealEqual:
        top = as_real(left) == as_real(right);
        break;
      case Code::kRealNotEqual:
        top = as_real(left) != as_real(right);
        break;
      case Code::kNegate:
        top = kernel::wrap_subtract(0, top);
        break;
      case Code::kNot:
        top = top == 0;
        break;
      case Code::kComplement:
        top = ~top;
        break;
      case Code::kToBoolean:
        top = top != 0;
        break;
      case Code::kRealNegate:
        top = as_bits(-as_real(top));
        break;
      case Code::kToReal:
        top = as_bits(static_cast<double>(top));
        break;
      case Code::kToInteger:
        if (!kernel::fits_integer(as_real(top))) {
          return 0;
        }
        top = static_cast<std::int64_t>(as_real(top));
        break;
      case Code::kRealToBoolean:
        top = as_real(top) != 0.0;
        break;
      case Code::kJumpFalseKeep:
      case Code::kJumpTrueKeep: {
        const auto target = read<std::uint32_t>(at);
        if ((top != 0) == (code == Code::kJumpTrueKeep)) {
          at = code_.data() + target;
        } else {
          top = *--below;
        }
        break;
      }
      case Code::kJumpFalse: {
        const auto target = read<std::uint32_t>(at);
        if (top == 0) {
          at = code_.data() + target;
        }
        top = *--below;
        break;
      }
      case Code::kJump:
        at = code_.data() + read<std::uint32_t>(at);
        break;
      case Code::kEnd:
        return top;
    }
  }
}

}  // namespace hone
