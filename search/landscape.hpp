#pragma once
// A cheap estimate of how time depends on the configuration, used to order candidates; it only has to be better than random.

#include <cstdint>
#include <limits>
#include <vector>

#include "hone/plugin.hpp"

namespace hone::search {

/// A configuration with the weight of each known one. A Point that is kept is updated only for new ones.
struct Point {
  plugin::Position position = 0;
  plugin::Digits digits;
  std::vector<std::uint32_t> values;  ///< for each parameter, its index among the values of all parameters
  std::vector<float> weights;
};

struct Estimate {
  double log_time = 0.0;
  double distance = 0.0;  ///< to the nearest known or pending point
};

/// Log time as a sum of effects, one for each value of each parameter, plus residuals interpolated between known points.
class Landscape {
 public:
  /// `ridge`: the number of observations of a value at which about half of its effect is trusted.
  Landscape(plugin::Space space, double ridge);

  /// Sets `point` to a position.
  void locate(plugin::Position position, Point& point) const;
  /// A failure counts as slower than the median; a too_slow configuration counts with its time.
  void learn(const plugin::Observation& observation);
  void await(plugin::Position position);

  [[nodiscard]] std::size_t points() const { return ok_.size() + awaited_.size(); }
  /// Position of the fastest correct point; meaningful if any is known.
  [[nodiscard]] plugin::Position best() const { return best_; }
  [[nodiscard]] bool has_best() const { return best_time_ < std::numeric_limits<double>::infinity(); }

  /// Updates the fit with new observations.
  void fit();
  /// After `fit`.
  [[nodiscard]] Estimate estimate(Point& point) const;
  /// Distance to the nearest known or pending point: for each parameter, the step between the values, plus a term for differing at all.
  [[nodiscard]] double distance(Point& point) const;
  /// Standard deviation of the log times.
  [[nodiscard]] double spread() const { return spread_; }

 private:
  [[nodiscard]] std::size_t value(std::size_t parameter, std::uint16_t digit) const { return offsets_[parameter] + digit; }
  void weigh(Point& point) const;
  [[nodiscard]] double distance_within(const Point& point, float largest_weight) const;
  void fit_effects();
  void fit_missed();

  plugin::Space space_;
  double ridge_ = 0.0;
  std::vector<std::size_t> offsets_;          ///< of each parameter: index of its first value among all values
  std::vector<std::vector<float>> steps_;     ///< of each value: squared distance to each value of its parameter
  std::vector<std::vector<float>> to_known_;  ///< of each value: the same to each known configuration's value, padded with 0 to whole lanes
  std::vector<std::vector<double>> together_;  ///< of each pair of values: the number of known configurations with both
  std::vector<double> time_sums_, failures_;   ///< of each value: sum of log times of successes, and number of failures
  std::vector<double> effects_;                ///< of each value
  std::vector<std::uint32_t> values_;          ///< of each known configuration, one after another
  std::vector<double> log_times_;              ///< of each, if ok
  std::vector<std::uint8_t> ok_;
  std::vector<float> missed_;  ///< of each: the residual of the sum of effects
  std::vector<Point> awaited_;
  std::vector<double> times_;  ///< log times of those that have one, ascending
  plugin::Position best_ = 0;
  double best_time_ = std::numeric_limits<double>::infinity();
  double mean_ = 0.0, spread_ = 0.0, failed_ = 0.0;
  bool fitted_ = true;
};

}  // namespace hone::search
