#pragma once
// Two results of one kernel on the same inputs, neither of which is the reference's: whether both may be right.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "engine/device/device.hpp"
#include "engine/kernel/kernel_spec.hpp"

namespace hone::measure {

/// What validation would allow one result to be off by. Each of the two may be.
struct OutputRule {
  DType element = DType::kF32;
  Tolerance tolerance = {};
  double sum_length = 1.0;
  bool is_accepted = false;  ///< a function of the author's judges, so several results are right: the two are not compared
  bool is_bound = false;     ///< the author or the user has said how far is too far; of integers
  bool set = false;          ///< the order is free,
  std::size_t group = 0;     ///< among so many elements that follow each other; 0: among all
  double fraction = 1.0;     ///< so large a share must be right
};

/// Of an argument of the kernel, an output. Errors: an expression that cannot be evaluated.
Result<OutputRule> output_rule(const KernelSpec& spec, std::size_t argument, const Problem& problem, double max_error);

/// `slack` is allowed in addition, for each element; empty: none. A NaN agrees with a NaN, an infinity with itself.
Comparison hold_against(const OutputRule& rule, std::span<const std::byte> actual, std::span<const std::byte> standard,
                        std::span<const double> slack);

/// Adds the square of each element's difference where that is finite.
void add_squared_differences(DType dtype, std::span<const std::byte> one, std::span<const std::byte> other, std::span<double> squares);

/// How many elements are NaN or infinite.
std::uint64_t count_not_finite(DType dtype, std::span<const std::byte> elements);

}  // namespace hone::measure
