#include "engine/space/bounds.hpp"

#include <algorithm>
#include <bit>

namespace hone::space {
namespace {

using Integer = std::int64_t;
__extension__ using Wide = __int128;

constexpr Bounds kAnything{};

Bounds between(Wide low, Wide high) {
  if (low < kAnything.low || high > kAnything.high) {
    return kAnything;  // it may wrap around
  }
  return {static_cast<Integer>(low), static_cast<Integer>(high)};
}

/// The hull of `combine` over the corners of two intervals.
template <class Combine>
Bounds corners(const Bounds& a, const Bounds& b, Combine combine) {
  const auto all = {combine(Wide{a.low}, Wide{b.low}), combine(Wide{a.low}, Wide{b.high}), combine(Wide{a.high}, Wide{b.low}),
                    combine(Wide{a.high}, Wide{b.high})};
  return between(std::min(all), std::max(all));
}

Bounds divide(const Bounds& a, const Bounds& b) {
  if (b.low <= 0 && b.high >= 0) {
    Bounds result;
    result.fails = true;
    return result;
  }
  return corners(a, b, [](Wide x, Wide y) { return x / y; });
}

Bounds remainder(const Bounds& a, const Bounds& b) {
  Bounds result;
  if (b.low <= 0) {
    result.fails = b.high >= 0;
    return result;
  }
  if (a.low >= 0 && a.high < b.low) {
    return {a.low, a.high};
  }
  result.low = a.low >= 0 ? 0 : std::max(a.low, -(b.high - 1));
  result.high = a.high <= 0 ? 0 : std::min(a.high, b.high - 1);
  return result;
}

Bounds shift(Operator op, const Bounds& a, const Bounds& by) {
  if (by.low < 0 || by.high > 62) {
    Bounds result;
    result.fails = true;
    return result;
  }
  return op == Operator::kShiftLeft ? corners(a, by, [](Wide x, Wide y) { return x * (Wide{1} << static_cast<int>(y)); })
                                    : corners(a, by, [](Wide x, Wide y) { return x >> static_cast<int>(y); });
}

/// a | b and a ^ b of what is never negative have no higher bit than these.
Bounds joined_bits(const Bounds& a, const Bounds& b) {
  if (a.low < 0 || b.low < 0) {
    return kAnything;
  }
  const auto bits = std::bit_width(static_cast<std::uint64_t>(std::max(a.high, b.high)));
  return {0, static_cast<Integer>((std::uint64_t{1} << bits) - 1)};
}

Bounds truth(bool may_be_false, bool may_be_true) { return {may_be_false ? 0 : 1, may_be_true ? 1 : 0}; }

Bounds compare(Operator op, const Bounds& a, const Bounds& b) {
  switch (op) {
    case Operator::kLess:
      return truth(a.high >= b.low, a.low < b.high);
    case Operator::kLessEqual:
      return truth(a.high > b.low, a.low <= b.high);
    case Operator::kGreater:
      return truth(a.low <= b.high, a.high > b.low);
    case Operator::kGreaterEqual:
      return truth(a.low < b.high, a.high >= b.low);
    default: {
      const bool may_equal = a.low <= b.high && b.low <= a.high;
      const bool may_differ = a.low != a.high || b.low != b.high || a.low != b.low;
      return op == Operator::kEqual ? truth(may_differ, may_equal) : truth(may_equal, may_differ);
    }
  }
}

Bounds logic(Operator op, std::span<const Bounds> of) {
  const bool is_and = op == Operator::kLogicalAnd;
  const bool may = is_and ? of[0].may_hold() && of[1].may_hold() : of[0].may_hold() || of[1].may_hold();
  const bool must = is_and ? of[0].must_hold() && of[1].must_hold() : of[0].must_hold() || of[1].must_hold();
  const bool reaches_second = is_and ? of[0].may_hold() : !of[0].must_hold();
  Bounds result = truth(!must, may);
  result.fails = of[0].fails || (reaches_second && of[1].fails);
  return result;
}

Bounds select(std::span<const Bounds> of) {
  Bounds result{std::min(of[1].low, of[2].low), std::max(of[1].high, of[2].high)};
  result.fails = of[0].fails || of[1].fails || of[2].fails;
  return result;
}

/// Operators that cannot fail on real numbers.
bool takes_reals(Operator op) {
  return op == Operator::kNegate || op == Operator::kAdd || op == Operator::kSubtract || op == Operator::kMultiply ||
         op == Operator::kToReal;
}

Bounds arithmetic(Operator op, std::span<const Bounds> of) {
  switch (op) {
    case Operator::kNegate:
      return between(-Wide{of[0].high}, -Wide{of[0].low});
    case Operator::kToInteger:
      return {of[0].low, of[0].high};
    case Operator::kAdd:
      return between(Wide{of[0].low} + of[1].low, Wide{of[0].high} + of[1].high);
    case Operator::kSubtract:
      return between(Wide{of[0].low} - of[1].high, Wide{of[0].high} - of[1].low);
    case Operator::kMultiply:
      return corners(of[0], of[1], [](Wide x, Wide y) { return x * y; });
    case Operator::kDivide:
      return divide(of[0], of[1]);
    case Operator::kRemainder:
      return remainder(of[0], of[1]);
    case Operator::kShiftLeft:
    case Operator::kShiftRight:
      return shift(op, of[0], of[1]);
    case Operator::kOr:
    case Operator::kXor:
      return joined_bits(of[0], of[1]);
    case Operator::kAnd:
      return of[0].low >= 0 && of[1].low >= 0 ? Bounds{0, std::min(of[0].high, of[1].high)} : kAnything;
    default:
      return kAnything;
  }
}

}  // namespace

Bounds bounds_of(Operator op, std::span<const Bounds> operands, bool any_real) {
  Bounds result;
  switch (op) {
    case Operator::kLogicalAnd:
    case Operator::kLogicalOr:
      return logic(op, operands);
    case Operator::kSelect:
      result = select(operands);
      return any_real ? Bounds{kAnything.low, kAnything.high, result.fails} : result;
    case Operator::kNot:
      result = truth(operands[0].may_hold(), !operands[0].must_hold());
      break;
    case Operator::kToBoolean:
      result = truth(!operands[0].must_hold(), operands[0].may_hold());
      break;
    case Operator::kLess:
    case Operator::kLessEqual:
    case Operator::kGreater:
    case Operator::kGreaterEqual:
    case Operator::kEqual:
    case Operator::kNotEqual:
      result = compare(op, operands[0], operands[1]);
      break;
    default:
      result = arithmetic(op, operands);
      if (any_real) {
        result = {kAnything.low, kAnything.high, !takes_reals(op)};
      }
  }
  for (const Bounds& operand : operands) {
    result.fails = result.fails || operand.fails;
  }
  return result;
}

}  // namespace hone::space
