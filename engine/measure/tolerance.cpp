// How far a right kernel may be from the reference. Each part of the bound has one cause; a kernel that loses a term, or accumulates in a
// type narrower than float, lands far outside. tests/measure/test_tolerance.cpp holds it against simulated kernels of both sorts.
//
// Accumulating. Adding n terms in a type with rounding error u = eps / 2 makes an error that is a random walk: for terms of random sign its
// rms is u * sqrt(n) * 0.41 of the result's rms even if one thread adds them all in order (Higham, "Accuracy and Stability of Numerical
// Algorithms", 2002, 4.2: errors grow like sqrt(n), the bound like n). For terms of one sign (the denominator of a softmax) it is a share
// of each result, u * sqrt(n) * 0.33. An output of 10^9 elements has one at 6 to 7 standard deviations, and the products of random numbers
// have longer tails than a normal: kAccumulation = 4 eps sqrt(n) of the rms and 1 eps sqrt(n) of each element hold both with room to spare.
// A tree or many threads only make the error smaller.
//
// A few operations around the sum: ex2.approx and its argument, a division, a square root in their fast forms: kOperations eps.
//
// Rounding the result to the dtype: at most eps / 2 of it. Tensor cores truncate while they accumulate, which pulls every result towards
// zero by up to about 2^-24 * n / 24 of it; a share of eps / 8 in the narrow types (the only ones tensor cores take) covers n = 2^16.
// Below the smallest normal number the step no longer shrinks: f16 results under 6e-5, as in a long softmax, are off by up to 2^-25, e4m3
// results under 2^-6 by up to 2^-10.
#include <algorithm>
#include <cmath>

#include "engine/measure/measure.hpp"

namespace hone {

Tolerance tolerance(DType dtype, double sum_length) {
  constexpr double kAccumulation = 4.0, kOperations = 8.0, kTruncation = 0.125;
  if (is_integer(dtype)) {
    return {};
  }
  // Of a f64 kernel double accumulation is expected, and then the reference, in double itself, is as far off as the kernel.
  const double accumulator = dtype == DType::kF64 ? 2.0 * epsilon(DType::kF64) : epsilon(DType::kF32);
  const double walk = accumulator * std::sqrt(std::max(1.0, sum_length));
  const bool narrow = size_of(dtype) < sizeof(float);
  Tolerance allowed;
  allowed.relative = (0.5 + (narrow ? kTruncation : 0.0)) * epsilon(dtype) + kOperations * accumulator + walk;
  allowed.absolute_rms = kAccumulation * walk;
  allowed.absolute = has_narrow_range(dtype) ? 0.5 * subnormal_step(dtype) : 0.0;
  return allowed;
}

}  // namespace hone
