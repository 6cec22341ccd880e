#pragma once
// Inputs as their marks describe them (Fill of engine/kernel/kernel_spec.hpp): ranges, sorted ones, permutations. On the host, in double:
// what is not drawn element by element (is_filled_by_device of engine/kernel/instantiation.hpp), and what provokes.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/kernel/kernel_spec.hpp"
#include "engine/measure/measure.hpp"

namespace hone::measure {

/// What a Fill says of one problem.
struct FillPlan {
  bool ranged = false;
  double low = 0.0, below = 0.0;  ///< if ranged
  double zeros = 0.0;             ///< the share
  bool sorted = false, distinct = false, permutation = false, normal = false;
};

/// Errors: kBadKernel, an expression that fails, an empty range, or more distinct elements than the range has.
Result<FillPlan> plan_fill(const Argument& argument, DType element, std::size_t count, const Bindings& bound);

/// `count` elements as bytes. A profile that provokes stays within what the plan promises: it goes to the range's ends, say, or orders what
/// may be ordered.
std::vector<std::byte> draw(const FillPlan& plan, InputProfile profile, DType element, std::size_t count, std::uint64_t seed);

}  // namespace hone::measure
