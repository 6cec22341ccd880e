#include "engine/compare/score.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "engine/compare/curves.hpp"

namespace hone::compare {
namespace {

// The package's defaults.
constexpr double kStart = 0.01, kEnd = 0.95;  // of the way from the median to the optimum
constexpr std::size_t kPoints = 10000;
constexpr double kMargin = 0.1, kMarginOfRow = 0.25;  // evaluations so far beyond the range are fitted too, relative to its ends

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2.0;
}

/// The rank, from the worst, that is expected to be the best of so many draws.
double expected_rank(double draws, double size) { return std::min(size - 1.0, std::nearbyint(draws * (size + 1.0) / (draws + 1.0))); }

/// The draws after which the baseline has gone `share` of the way from the median to the optimum.
double draws_to(const std::vector<double>& sorted, double share) {
  const auto size = static_cast<double>(sorted.size());
  const double target = sorted.front() + (median(sorted) - sorted.front()) * (1.0 - share);
  auto rank = static_cast<double>(std::ranges::upper_bound(sorted, target) - sorted.begin());
  rank = size - rank;  // from the worst: the first that reaches the target
  const bool optimum = sorted[static_cast<std::size_t>(size - 1.0 - rank)] == sorted.front();
  rank -= optimum && rank > 0.0 ? 1.0 : 0.0;
  return std::ceil(rank / (size + 1.0 - rank));
}

double mean_cost(const SpaceTable& table) {
  double ok = 0.0, failed = 0.0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    (std::isinf(table.time_us[i]) ? failed : ok) += table.cost[i];
  }
  ok /= static_cast<double>(table.sorted.size());
  // So the package has it: a draw that works, and with the share of failures one that does not.
  return ok + failed / static_cast<double>(table.size());
}

/// Cost and rank of the best so far after each evaluation that has one and lies in the range.
std::vector<Point> points_of(const SpaceTable& table, std::span<const Run> runs, double low, double high) {
  std::vector<Point> points;
  for (const Run& run : runs) {
    double cost = 0.0, best = std::numeric_limits<double>::infinity(), rank = 0.0;
    for (const std::uint32_t position : run.positions) {
      cost += table.cost[position];
      if (table.time_us[position] < best) {
        best = table.time_us[position];
        rank = static_cast<double>(std::ranges::lower_bound(table.sorted, best) - table.sorted.begin());
      }
      if (!std::isinf(best) && low <= cost && cost <= high) {
        points.push_back({cost, rank});
      }
    }
  }
  return points;
}

/// Evaluations after which at least one run has found something.
std::size_t rows_of(const SpaceTable& table, std::span<const Run> runs) {
  std::size_t longest = 0, first = std::numeric_limits<std::size_t>::max();
  for (const Run& run : runs) {
    longest = std::max(longest, run.positions.size());
    const auto found = std::ranges::find_if(run.positions, [&](std::uint32_t position) { return !std::isinf(table.time_us[position]); });
    first = std::min(first, static_cast<std::size_t>(found - run.positions.begin()));
  }
  return longest > first ? longest - first : 0;
}

/// The mean of falling fits to subsets drawn with replacement, at `costs`: the package fits one for each run, to a share of all points that
/// falls with the root of their number. A handful of runs gets more of them than there, for the same mean with less noise.
std::vector<double> bagged(const std::vector<Point>& points, std::size_t runs, const std::vector<double>& costs) {
  constexpr std::size_t kFewestBags = 3, kFewestFits = 50;
  const auto bags = static_cast<double>(std::max(runs, kFewestBags));
  const auto drawn = std::max<std::size_t>(1, static_cast<std::size_t>(static_cast<double>(points.size()) / std::sqrt(bags)));
  const std::size_t fits = std::max(runs, kFewestFits);
  std::mt19937_64 random(0);
  std::vector<double> mean(costs.size());
  for (std::size_t fit = 0; fit < fits; ++fit) {
    std::vector<Point> subset;
    for (std::size_t i = 0; i < drawn; ++i) {
      subset.push_back(points[static_cast<std::size_t>(((random() >> 32) * points.size()) >> 32)]);
    }
    const FallingFit fitted(std::move(subset));
    for (std::size_t i = 0; i < costs.size(); ++i) {
      mean[i] += fitted.at(costs[i]) / static_cast<double>(fits);
    }
  }
  return mean;
}

}  // namespace

Scorer::Scorer(const SpaceTable& table, double budget) : table_(table) {
  double first = draws_to(table.sorted, kStart), last = draws_to(table.sorted, kEnd);
  if (last - first < 2.0) {
    last += first == 0.0 ? 2.0 : 1.0;
    first -= first == 0.0 ? 0.0 : 1.0;
  }
  const double typical = median(table.cost);
  from_ = first * typical;
  full_to_ = last * typical;
  to_ = std::min(full_to_, budget);
  from_ = std::min(from_, to_);
  baseline_ = baseline();
}

double Scorer::cost_at(std::size_t point) const { return from_ + (to_ - from_) * static_cast<double>(point) / (kPoints - 1); }

double Scorer::drawn_time(double draws) const {
  const auto size = static_cast<double>(table_.sorted.size());
  return table_.sorted[static_cast<std::size_t>(size - 1.0 - expected_rank(draws, size))];
}

std::vector<double> Scorer::baseline() const {
  const double per_draw = mean_cost(table_);
  const auto draws = [&](std::size_t point) { return std::nearbyint(std::max(cost_at(point) / per_draw, 1.0)); };
  std::vector<Point> steps;
  for (std::size_t i = 0; i < kPoints; ++i) {
    if (steps.empty() || steps.back().x != draws(i)) {
      steps.push_back({draws(i), drawn_time(draws(i))});
    }
  }
  if (steps.size() < 2) {
    return std::vector(kPoints, steps.front().y);
  }
  const MonotoneCurve smooth(steps);
  std::vector<double> times;
  for (std::size_t i = 0; i < kPoints; ++i) {
    times.push_back(smooth.at(steps.front().x + (steps.back().x - steps.front().x) * static_cast<double>(i) / (kPoints - 1)));
  }
  return times;
}

double Scorer::score(std::span<const Run> runs) const {
  const double margin = kMargin + kMarginOfRow / static_cast<double>(std::max<std::size_t>(rows_of(table_, runs), 1));
  std::vector<Point> points = points_of(table_, runs, from_ * (1.0 - margin), to_ * (1.0 + margin));
  if (points.empty()) {
    points.push_back({from_, static_cast<double>(table_.sorted.size() - 1)});
  }
  std::vector<double> costs;
  for (std::size_t i = 0; i < kPoints; ++i) {
    costs.push_back(cost_at(i));
  }
  const std::vector<double> ranks = bagged(points, runs.size(), costs);
  double sum = 0.0;
  std::size_t counted = 0;
  for (std::size_t i = 0; i < kPoints; ++i) {
    const double room = baseline_[i] - table_.best();
    if (room > 0.0) {
      sum += (baseline_[i] - table_.sorted[static_cast<std::size_t>(std::nearbyint(ranks[i]))]) / room;
      ++counted;
    }
  }
  return counted == 0 ? 0.0 : sum / static_cast<double>(counted);
}

}  // namespace hone::compare
