#include "engine/compare/curves.hpp"

#include <algorithm>
#include <cmath>

namespace hone::compare {
namespace {

struct Block {
  double sum = 0.0, weight = 0.0;
  double first_x = 0.0, last_x = 0.0;
  [[nodiscard]] double mean() const { return sum / weight; }
};

/// Points of the same x become one.
std::vector<Block> blocks_of(std::vector<Point> points) {
  std::ranges::sort(points, [](const Point& a, const Point& b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
  std::vector<Block> blocks;
  for (const Point& point : points) {
    if (blocks.empty() || blocks.back().last_x != point.x) {
      blocks.push_back({.sum = 0.0, .weight = 0.0, .first_x = point.x, .last_x = point.x});
    }
    blocks.back().sum += point.y;
    blocks.back().weight += 1.0;
  }
  return blocks;
}

/// The slope at an end, from the widths of and the slopes within the two pieces beside it; kept from turning.
double end_slope(double width, double next_width, double slope, double next_slope) {
  const double guess = ((2.0 * width + next_width) * slope - width * next_slope) / (width + next_width);
  if (guess * slope <= 0.0) {
    return 0.0;
  }
  return slope * next_slope <= 0.0 && std::abs(guess) > 3.0 * std::abs(slope) ? 3.0 * slope : guess;
}

}  // namespace

FallingFit::FallingFit(std::vector<Point> points) {
  std::vector<Block> fitted;
  for (const Block& block : blocks_of(std::move(points))) {
    fitted.push_back(block);
    while (fitted.size() > 1 && fitted[fitted.size() - 2].mean() <= fitted.back().mean()) {
      const Block last = fitted.back();
      fitted.pop_back();
      fitted.back().sum += last.sum;
      fitted.back().weight += last.weight;
      fitted.back().last_x = last.last_x;
    }
  }
  for (const Block& block : fitted) {
    knots_.push_back({block.first_x, block.mean()});
    if (block.last_x != block.first_x) {
      knots_.push_back({block.last_x, block.mean()});
    }
  }
}

double FallingFit::at(double x) const {
  const auto after = std::ranges::lower_bound(knots_, x, {}, &Point::x);
  if (after == knots_.begin()) {
    return knots_.front().y;
  }
  if (after == knots_.end()) {
    return knots_.back().y;
  }
  const Point& before = *(after - 1);
  return before.y + (after->y - before.y) * (x - before.x) / (after->x - before.x);
}

MonotoneCurve::MonotoneCurve(std::vector<Point> points) : points_(std::move(points)), slopes_(points_.size()) {
  const std::size_t pieces = points_.size() - 1;
  std::vector<double> width(pieces), slope(pieces);
  for (std::size_t i = 0; i < pieces; ++i) {
    width[i] = points_[i + 1].x - points_[i].x;
    slope[i] = (points_[i + 1].y - points_[i].y) / width[i];
  }
  if (pieces == 1) {
    slopes_ = {slope[0], slope[0]};
    return;
  }
  for (std::size_t i = 1; i < pieces; ++i) {
    const double left = 2.0 * width[i] + width[i - 1], right = width[i] + 2.0 * width[i - 1];
    slopes_[i] = slope[i - 1] * slope[i] <= 0.0 ? 0.0 : (left + right) / (left / slope[i - 1] + right / slope[i]);
  }
  slopes_.front() = end_slope(width[0], width[1], slope[0], slope[1]);
  slopes_.back() = end_slope(width[pieces - 1], width[pieces - 2], slope[pieces - 1], slope[pieces - 2]);
}

double MonotoneCurve::at(double x) const {
  const auto after = std::ranges::upper_bound(points_, x, {}, &Point::x);
  const auto piece = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(after - points_.begin() - 1, 0, std::ssize(points_) - 2));
  const Point& a = points_[piece];
  const Point& b = points_[piece + 1];
  const double width = b.x - a.x, t = (x - a.x) / width, s = 1.0 - t;
  return (1.0 + 2.0 * t) * s * s * a.y + t * s * s * width * slopes_[piece] + t * t * (3.0 - 2.0 * t) * b.y -
         t * t * s * width * slopes_[piece + 1];
}

}  // namespace hone::compare
