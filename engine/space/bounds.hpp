#pragma once
// Interval arithmetic over the engine's expressions.

#include <cstdint>
#include <limits>
#include <span>

#include "engine/kernel/expression.hpp"

namespace hone::space {

/// What a term can be over all values of its parameters. Reals are not bounded.
struct Bounds {
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
  bool fails = false;  ///< may divide by zero or shift too far
  [[nodiscard]] bool may_hold() const { return low != 0 || high != 0; }
  [[nodiscard]] bool must_hold() const { return low > 0 || high < 0; }
};

/// Bounds of an operator's result from those of its operands; `any_real`: one of these may be a real number.
Bounds bounds_of(Operator op, std::span<const Bounds> operands, bool any_real);

}  // namespace hone::space
