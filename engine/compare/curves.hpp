#pragma once
// The two fits that the score is made of.

#include <span>
#include <vector>

namespace hone::compare {

struct Point {
  double x = 0.0, y = 0.0;
};

/// The falling function nearest to the points in squares: constant where they rise, straight lines between, constant beyond the ends.
class FallingFit {
 public:
  explicit FallingFit(std::vector<Point> points);
  [[nodiscard]] double at(double x) const;

 private:
  std::vector<Point> knots_;
};

/// Through all points (x ascending, at least two) without overshoot: piecewise cubic after Fritsch and Butland.
class MonotoneCurve {
 public:
  explicit MonotoneCurve(std::vector<Point> points);
  [[nodiscard]] double at(double x) const;

 private:
  std::vector<Point> points_;
  std::vector<double> slopes_;
};

}  // namespace hone::compare
