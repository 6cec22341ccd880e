#pragma once
// Inputs that differ by rounding errors, and what an answer's change with them says of rounding (conditioning.cpp).

#include <cstddef>
#include <cstdint>
#include <span>

#include "hone/dtype.hpp"

namespace hone::measure {

/// Of perturbed inputs, to take the root mean square over.
inline constexpr int kDraws = 4;

/// Of f32 and f64: several roundings, so that two elements seldom change by the same, and none not at all.
inline constexpr double kFinestStep = 4.0 * 0x1p-23;

/// Moves each float by one step of its type, up or down at random in magnitude, so that zeros and signs stay; an f32 or f64 by a share of
/// itself whose root mean square is `step`. Leaves integers alone.
void perturb(DType dtype, std::span<std::byte> elements, double step, std::uint64_t seed);

/// What a right output may be off by, in times its root mean square change when inputs change by the share `step`: of a sum of so many
/// terms.
double rounding_per_change(DType output, double step, double sum_length);

}  // namespace hone::measure
