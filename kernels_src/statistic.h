#pragma once
// The statistics of a row that layernorm and rmsnorm need, computed from those of its parts.
#include "approximate.h"

/// The sum of squares, for the root mean square. Nothing cancels, so a plain sum is accurate.
struct SquareSum {
  float sum;

  HONE_DEVICE static SquareSum none() { return {0.0f}; }
  HONE_DEVICE static SquareSum combine(SquareSum a, SquareSum b) { return {a.sum + b.sum}; }
  HONE_DEVICE static SquareSum of(float value) { return {value * value}; }
  /// Of `packets` packets; packet j is zero where present(j) is false.
  template <int packets, int vec, class Present> HONE_DEVICE static SquareSum of(const float (&value)[packets][vec], Present) {
    float sum = 0;
#pragma unroll
    for (int j = 0; j < packets; ++j) {
#pragma unroll
      for (int e = 0; e < vec; ++e) sum += value[j][e] * value[j][e];
    }
    return {sum};
  }
  HONE_DEVICE float center() const { return 0.0f; }
  HONE_DEVICE float scale(long cols, float epsilon) const { return rsqrtf(sum / (float)cols + epsilon); }
};

/// Count, mean and sum of squared differences from the mean. A thread computes the mean of its elements before the differences, and the
/// formula of Chan, Golub and LeVeque ("Updating formulae and a pairwise algorithm for computing sample variances", 1979) combines parts.
/// The result is accurate however far the mean is from zero, where sum(x^2) - sum(x)^2 / n loses all digits.
struct Moments {
  float count, mean, squares;

  HONE_DEVICE static Moments none() { return {0.0f, 0.0f, 0.0f}; }
  HONE_DEVICE static Moments combine(Moments a, Moments b) {
    const float count = a.count + b.count, difference = b.mean - a.mean, share = b.count * reciprocal(fmaxf(count, 1.0f));
    return {count, a.mean + difference * share, a.squares + b.squares + difference * difference * a.count * share};
  }
  HONE_DEVICE static Moments of(float value) { return {1.0f, value, 0.0f}; }
  template <int packets, int vec, class Present> HONE_DEVICE static Moments of(const float (&value)[packets][vec], Present present) {
    constexpr int kFull = packets * vec;
    float sum = 0, squares = 0;
    int count = 0;
#pragma unroll
    for (int j = 0; j < packets; ++j) {
      count += present(j) ? vec : 0;
#pragma unroll
      for (int e = 0; e < vec; ++e) sum += value[j][e];
    }
    const float mean = sum * (count == kFull ? 1.0f / kFull : reciprocal((float)max_of(count, 1)));
#pragma unroll
    for (int j = 0; j < packets; ++j) {
      if (!present(j)) continue;
#pragma unroll
      for (int e = 0; e < vec; ++e) squares += (value[j][e] - mean) * (value[j][e] - mean);
    }
    return {(float)count, mean, squares};
  }
  HONE_DEVICE float center() const { return mean; }
  HONE_DEVICE float scale(long cols, float epsilon) const { return rsqrtf(squares / (float)cols + epsilon); }
};

/// A plain sum. Two sums give the moments: of the elements, then of their squared differences from the mean.
struct Total {
  float sum;

  HONE_DEVICE static Total combine(Total a, Total b) { return {a.sum + b.sum}; }
};

/// What the threads of a row reduce.
template <class Statistic, bool two_pass> struct ReducedOf { using type = Statistic; };
template <class Statistic> struct ReducedOf<Statistic, true> { using type = Total; };

/// Normalizes x: (x - center) * scale.
struct Normalizer {
  float center, scale;
};
