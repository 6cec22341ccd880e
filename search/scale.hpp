#pragma once
// The scale on which a model sees times: differences near the best count, those among slow configurations hardly do.

#include <span>
#include <vector>

#include "hone/plugin.hpp"

namespace hone::search {

struct ScaleSettings {
  double compression = 0.5;  ///< times beyond this fraction of the way from best to median are compressed by their logarithm; 0: never
  double failure_quantile = 0.75;  ///< a failure counts as this quantile of the times
};

/// The scale derived from a set of times.
class Scale {
 public:
  Scale() = default;
  /// In microseconds, infinity for a failure; at least one must be finite.
  Scale(std::span<const double> times_us, const ScaleSettings& settings);
  /// Log time above the best, compressed.
  [[nodiscard]] double above_best(double time_us) const;

 private:
  double best_ = 0.0, failed_ = 0.0, knee_ = 0.0;
};

/// The scaled value of each of these times, on their own scale.
std::vector<double> above_best(std::span<const double> times_us, const ScaleSettings& settings);

/// The q-quantile of sorted values; at least one value.
double quantile(std::span<const double> sorted, double q);

}  // namespace hone::search
