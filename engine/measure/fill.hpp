#pragma once
// Inputs described by their marks (Fill of engine/kernel/kernel_spec.hpp): ranges, sorted inputs, permutations. The host computes in double
// inputs that are not drawn element by element (is_filled_by_device of engine/kernel/instantiation.hpp), and stress inputs.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/kernel/kernel_spec.hpp"
#include "engine/measure/measure.hpp"

namespace hone::measure {

/// A Fill evaluated for one problem.
struct FillPlan {
  bool ranged = false;
  double low = 0.0, below = 0.0;  ///< if ranged
  double zeros = 0.0;             ///< their share
  bool sorted = false, distinct = false, permutation = false, normal = false;
};

/// Errors: kBadKernel, an expression that fails, an empty range, or more distinct elements than the range has.
Result<FillPlan> plan_fill(const Argument& argument, DType element, std::size_t count, const Bindings& bound);

/// `count` elements as bytes. A stress profile stays within the plan: for example, it uses the ends of the range, or sorts elements if that
/// is allowed.
std::vector<std::byte> draw(const FillPlan& plan, InputProfile profile, DType element, std::size_t count, std::uint64_t seed);

}  // namespace hone::measure
