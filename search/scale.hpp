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

/// Log time above the best, compressed; one for each outcome, at least one of which must be a time. `times`: microseconds, infinity for a
/// failure.
std::vector<double> above_best(std::span<const double> times_us, const ScaleSettings& settings);

/// The q-quantile of sorted values; there must be one.
double quantile(std::span<const double> sorted, double q);

}  // namespace hone::search
