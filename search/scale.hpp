#pragma once
// What a model learns from: times on a scale where differences near the best count and those among the slow hardly do.

#include <span>
#include <vector>

#include "hone/plugin.hpp"

namespace hone::search {

struct ScaleSettings {
  double compression =
      0.5;  ///< times slower than the best by more than this share of the way to the median count by the logarithm of that; 0: never
  double failure_quantile = 0.75;  ///< a failure counts as this quantile of the times
};

/// What times mean beside others.
class Scale {
 public:
  Scale() = default;
  /// At least one must be a time. Microseconds, infinity for a failure.
  Scale(std::span<const double> times_us, const ScaleSettings& settings);
  /// Log time above the best, compressed.
  [[nodiscard]] double above_best(double time_us) const;

 private:
  double best_ = 0.0, failed_ = 0.0, knee_ = 0.0;
};

/// Of each of these times, on their own scale.
std::vector<double> above_best(std::span<const double> times_us, const ScaleSettings& settings);

/// The q-quantile of sorted values; there must be one.
double quantile(std::span<const double> sorted, double q);

}  // namespace hone::search
