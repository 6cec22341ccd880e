#include "search/landscape.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hone::search {
namespace {

// Chosen on recorded spaces of eleven kernel and GPU pairs; results change little within half and double of each.
constexpr float kSquaredWeightOfDiffering = 0.35F * 0.35F;
constexpr double kFailureBetweenMedianAndWorst = 0.3;
constexpr int kBackfittingRounds = 8;
constexpr float kSamePoint = 1e-6F;

}  // namespace

Landscape::Landscape(plugin::Space space, double ridge) : space_(space), ridge_(ridge) {
  for (std::size_t p = 0; p < space.dimensions(); ++p) {
    const std::size_t values = space.dimension(p).count;
    auto& coordinates = coordinates_.emplace_back(values, 0.0F);
    // Labels have no order: there, two values differ or do not.
    for (std::size_t i = 0; i < values && values > 1 && space.dimension(p).kind != HONE_CATEGORICAL; ++i) {
      coordinates[i] = static_cast<float>(i) / static_cast<float>(values - 1);
    }
    effects_.emplace_back(values, 0.0);
  }
}

Point Landscape::point(plugin::Position position) const { return {position, space_.at(position)}; }

float Landscape::squared_distance(const Point& a, const Point& b) const {
  float sum = 0.0F;
  for (std::size_t p = 0; p < a.digits.size(); ++p) {
    const float step = coordinates_[p][a.digits[p]] - coordinates_[p][b.digits[p]];
    sum += step * step + (a.digits[p] == b.digits[p] ? 0.0F : kSquaredWeightOfDiffering);
  }
  return sum;
}

void Landscape::learn(const plugin::Observation& observation) {
  std::erase_if(awaited_, [&](const Point& awaited) { return awaited.position == observation.at(); });
  Known known{.point = point(observation.at()), .ok = observation.timed()};
  if (known.ok) {
    known.log_time = std::log(observation.time_us);
    best_ = !has_best() || known.log_time < known_[best_].log_time ? known_.size() : best_;
  }
  known_.push_back(std::move(known));
  fitted_ = false;
}

void Landscape::stand_in_for_failures() {
  std::vector<double> times;
  for (const Known& known : known_) {
    if (known.ok) {
      times.push_back(known.log_time);
    }
  }
  if (times.empty()) {
    return;
  }
  std::ranges::sort(times);
  const double median = times[times.size() / 2];
  for (Known& known : known_) {
    known.log_time = known.ok ? known.log_time : median + kFailureBetweenMedianAndWorst * (times.back() - median);
  }
}

/// Gives each value of one parameter the mean of what the others leave unexplained, drawn towards 0 where it was seen rarely.
void Landscape::fit_effects(std::size_t parameter) {
  std::vector<double>& effects = effects_[parameter];
  std::vector<double> sums(effects.size(), 0.0), counts(effects.size(), ridge_);
  for (const Known& known : known_) {
    const std::uint16_t digit = known.point.digits[parameter];
    sums[digit] += known.missed + effects[digit];
    counts[digit] += 1.0;
  }
  std::vector<double> before = effects;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    effects[i] = counts[i] > 0.0 ? sums[i] / counts[i] : 0.0;
  }
  for (Known& known : known_) {
    const std::uint16_t digit = known.point.digits[parameter];
    known.missed += before[digit] - effects[digit];
  }
}

void Landscape::fit() {
  if (fitted_) {
    return;
  }
  fitted_ = true;
  stand_in_for_failures();
  const auto points = static_cast<double>(known_.size());
  double sum = 0.0, squares = 0.0;
  for (const Known& known : known_) {
    sum += known.log_time;
  }
  mean_ = sum / points;
  for (Known& known : known_) {
    known.missed = known.log_time - mean_;
    squares += known.missed * known.missed;
  }
  spread_ = std::sqrt(squares / points);
  for (auto& effects : effects_) {
    std::ranges::fill(effects, 0.0);
  }
  for (int round = 0; round < kBackfittingRounds; ++round) {
    for (std::size_t parameter = 0; parameter < effects_.size(); ++parameter) {
      if (effects_[parameter].size() > 1) {
        fit_effects(parameter);
      }
    }
  }
}

Estimate Landscape::estimate(const Point& point) const {
  double log_time = mean_;
  for (std::size_t p = 0; p < effects_.size(); ++p) {
    log_time += effects_[p][point.digits[p]];
  }
  double missed = 0.0, weights = 0.0;
  float nearest = std::numeric_limits<float>::max();
  for (const Known& known : known_) {
    const float squared = squared_distance(point, known.point) + kSamePoint;
    const double weight = 1.0 / (static_cast<double>(squared) * static_cast<double>(squared));
    missed += weight * known.missed;
    weights += weight;
    nearest = std::min(nearest, squared);
  }
  for (const Point& awaited : awaited_) {
    nearest = std::min(nearest, squared_distance(point, awaited));
  }
  return {log_time + (weights > 0.0 ? missed / weights : 0.0), std::sqrt(static_cast<double>(nearest))};
}

double Landscape::distance(const Point& point) const {
  float nearest = std::numeric_limits<float>::max();
  for (const Known& known : known_) {
    nearest = std::min(nearest, squared_distance(point, known.point));
  }
  for (const Point& awaited : awaited_) {
    nearest = std::min(nearest, squared_distance(point, awaited));
  }
  return std::sqrt(static_cast<double>(nearest));
}

}  // namespace hone::search
