#pragma once
// A cheap picture of how time depends on the configuration, to order candidates by; it need not be right, only better than chance.

#include <cstdint>
#include <span>
#include <vector>

#include "hone/plugin.hpp"

namespace hone::search {

/// A configuration as positions of its values.
struct Point {
  plugin::Position position = 0;
  plugin::Digits digits;
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

  [[nodiscard]] Point point(plugin::Position position) const;
  /// Squared: along each parameter the step between two values, and for differing at all.
  [[nodiscard]] float squared_distance(const Point& a, const Point& b) const;

  /// Also a failure says something: time there counts as slower than the median.
  void learn(const plugin::Observation& observation);
  void await(const Point& point) { awaited_.push_back(point); }

  [[nodiscard]] std::size_t points() const { return known_.size() + awaited_.size(); }
  /// Position of the fastest point; meaningful if any is known not to have failed.
  [[nodiscard]] plugin::Position best() const { return known_[best_].point.position; }
  [[nodiscard]] bool has_best() const { return best_ < known_.size(); }

  /// Fits what was learnt since the last fit.
  void fit();
  /// After `fit`.
  [[nodiscard]] Estimate estimate(const Point& point) const;
  /// Distance to the nearest point known or awaited.
  [[nodiscard]] double distance(const Point& point) const;
  /// Standard deviation of the log times.
  [[nodiscard]] double spread() const { return spread_; }

 private:
  struct Known {
    Point point;
    bool ok = false;
    double log_time = 0.0;
    double missed = 0.0;  ///< by the sum of effects
  };
  void stand_in_for_failures();
  void fit_effects(std::size_t parameter);

  plugin::Space space_;
  double ridge_ = 0.0;
  std::vector<std::vector<float>> coordinates_;  ///< of each parameter's values, in [0, 1]
  std::vector<Known> known_;
  std::vector<Point> awaited_;
  std::vector<std::vector<double>> effects_;
  std::size_t best_ = static_cast<std::size_t>(-1);
  double mean_ = 0.0, spread_ = 0.0;
  bool fitted_ = true;
};

}  // namespace hone::search
