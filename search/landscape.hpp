#pragma once
// A cheap picture of how time depends on the configuration, to order candidates by; it need not be right, only better than chance.

#include <cstdint>
#include <limits>
#include <vector>

#include "hone/plugin.hpp"

namespace hone::search {

/// A configuration, and how much each known one says about it. Where it is kept, only what is new is weighed.
struct Point {
  plugin::Position position = 0;
  plugin::Digits digits;
  std::vector<std::uint32_t> values;  ///< one of each parameter, counted through all of them
  std::vector<float> weights;
};

struct Estimate {
  double log_time = 0.0;
  double distance = 0.0;  ///< to the nearest point known or awaited
};

/// Log time as a sum over parameters of an effect of each value, and what the sum misses interpolated between the points known.
class Landscape {
 public:
  /// `ridge`: how many observations of a value it takes to believe half of its effect, or so.
  Landscape(plugin::Space space, double ridge);

  /// Makes `point` the one at a position.
  void locate(plugin::Position position, Point& point) const;
  /// Also a failure says something: time there counts as slower than the median. What was too slow counts with its time.
  void learn(const plugin::Observation& observation);
  void await(plugin::Position position);

  [[nodiscard]] std::size_t points() const { return ok_.size() + awaited_.size(); }
  /// Position of the fastest point that is right; meaningful if any is known.
  [[nodiscard]] plugin::Position best() const { return best_; }
  [[nodiscard]] bool has_best() const { return best_time_ < std::numeric_limits<double>::infinity(); }

  /// Fits what was learnt since the last fit.
  void fit();
  /// After `fit`.
  [[nodiscard]] Estimate estimate(Point& point) const;
  /// Distance to the nearest point known or awaited: along each parameter the step between two values, and for differing at all.
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
  std::vector<std::size_t> offsets_;           ///< of each parameter: its first value among the values of all
  std::vector<std::vector<float>> steps_;      ///< of each value: squared distance to each value of its parameter
  std::vector<std::vector<float>> to_known_;   ///< of each value: the same to each known configuration's value, and 0 up to whole lanes
  std::vector<std::vector<double>> together_;  ///< of each pair of values: how many known configurations have both
  std::vector<double> time_sums_, failures_;   ///< of each value: log times of those with it that did not fail, and how many did
  std::vector<double> effects_;                ///< of each value
  std::vector<std::uint32_t> values_;          ///< of each known configuration, one after another
  std::vector<double> log_times_;              ///< of each, if ok
  std::vector<std::uint8_t> ok_;
  std::vector<float> missed_;  ///< of each: what the sum of effects misses
  std::vector<Point> awaited_;
  std::vector<double> times_;  ///< log times of those that have one, ascending
  plugin::Position best_ = 0;
  double best_time_ = std::numeric_limits<double>::infinity();
  double mean_ = 0.0, spread_ = 0.0, failed_ = 0.0;
  bool fitted_ = true;
};

}  // namespace hone::search
