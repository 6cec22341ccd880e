#include "engine/compare/summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace hone::compare {
namespace {

constexpr std::size_t kResamples = 1000;
constexpr double kEnough = 0.95;  // of the optimum
constexpr std::size_t kCurvePoints = 60;

/// fractions[b] of one run at each of the ascending `budgets`.
std::vector<double> fractions_of(const SpaceTable& table, const Run& run, const std::vector<double>& budgets) {
  std::vector<double> fractions;
  double cost = 0.0, best = std::numeric_limits<double>::infinity();
  std::size_t next = 0;
  for (const double budget : budgets) {
    while (next < run.positions.size() && cost + table.cost[run.positions[next]] <= budget) {
      cost += table.cost[run.positions[next]];
      best = std::min(best, table.time_us[run.positions[next++]]);
    }
    fractions.push_back(std::isinf(best) ? 0.0 : table.best() / best);
  }
  return fractions;
}

double evaluations_to_enough(const SpaceTable& table, const Run& run) {
  const auto found =
      std::ranges::find_if(run.positions, [&](std::uint32_t position) { return table.time_us[position] * kEnough <= table.best(); });
  return static_cast<double>(found - run.positions.begin()) + (found == run.positions.end() ? 0.0 : 1.0);
}

/// table[repeat][b]: fractions of a repeat, averaged over its sources.
std::vector<std::vector<double>> by_repeat(const SpaceRuns& space, const std::vector<double>& budgets, std::size_t repeats) {
  std::vector<std::vector<double>> table(repeats, std::vector<double>(budgets.size()));
  const double share = static_cast<double>(repeats) / static_cast<double>(space.runs.size());
  for (std::size_t i = 0; i < space.runs.size(); ++i) {
    const std::vector<double> fractions = fractions_of(*space.table, space.runs[i], budgets);
    for (std::size_t b = 0; b < budgets.size(); ++b) {
      table[i % repeats][b] += fractions[b] * share;
    }
  }
  return table;
}

std::vector<double> mean_of(const std::vector<std::vector<double>>& rows) {
  std::vector<double> mean(rows.empty() ? 0 : rows.front().size());
  for (const std::vector<double>& row : rows) {
    for (std::size_t b = 0; b < row.size(); ++b) {
      mean[b] += row[b];
    }
  }
  for (double& sum : mean) {
    sum /= static_cast<double>(rows.size());
  }
  return mean;
}

std::vector<double> resample(const std::vector<std::vector<double>>& rows, std::mt19937_64& random) {
  std::vector<double> mean(rows.front().size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<double>& row = rows[static_cast<std::size_t>(((random() >> 32) * rows.size()) >> 32)];
    for (std::size_t b = 0; b < row.size(); ++b) {
      mean[b] += row[b];
    }
  }
  for (double& sum : mean) {
    sum /= static_cast<double>(rows.size());
  }
  return mean;
}

/// From means to estimates: samples[resample][b].
std::vector<Estimate> estimates(const std::vector<double>& means, const std::vector<std::vector<double>>& samples) {
  std::vector<Estimate> made;
  for (std::size_t b = 0; b < means.size(); ++b) {
    std::vector<double> column;
    for (const std::vector<double>& sample : samples) {
      column.push_back(sample[b]);
    }
    std::ranges::sort(column);
    const auto at = [&](double share) { return column[static_cast<std::size_t>(share * static_cast<double>(column.size() - 1))]; };
    made.push_back({.mean = means[b], .low = std::min(at(0.025), means[b]), .high = std::max(at(0.975), means[b])});
  }
  return made;
}

/// Fills in the fractions of the strategy and of each space.
void estimate(StrategyResult& result, const std::vector<std::vector<std::vector<double>>>& tables, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<std::vector<double>>> samples(tables.size());  // [space][resample][b]
  std::vector<std::vector<double>> overall;
  for (std::size_t k = 0; k < kResamples; ++k) {
    std::vector<std::vector<double>> drawn;
    for (std::size_t s = 0; s < tables.size(); ++s) {
      drawn.push_back(resample(tables[s], random));
      samples[s].push_back(drawn.back());
    }
    overall.push_back(mean_of(drawn));
  }
  std::vector<std::vector<double>> means;
  for (std::size_t s = 0; s < tables.size(); ++s) {
    means.push_back(mean_of(tables[s]));
    result.per_space[s].fractions = estimates(means.back(), samples[s]);
  }
  result.fractions = estimates(mean_of(means), overall);
}

void add(StrategyFaults& sum, const StrategyFaults& faults) {
  sum.invalid += faults.invalid;
  sum.repeated += faults.repeated;
  sum.failed += faults.failed;
  sum.stalled += faults.stalled;
  sum.crashed += faults.crashed;
  sum.idle += faults.idle;
  sum.first = sum.first.empty() ? faults.first : sum.first;
}

/// The strategy's own time and faults.
void tally(StrategyResult& result, std::span<const SpaceRuns> spaces) {
  std::vector<float> asks;
  for (const SpaceRuns& space : spaces) {
    for (const Run& run : space.runs) {
      ++result.runs;
      result.own_seconds += run.own_seconds;
      add(result.faults, run.faults);
      asks.insert(asks.end(), run.ask_us.begin(), run.ask_us.end());
    }
  }
  result.evaluations = std::ssize(asks);
  if (!asks.empty()) {
    result.ask_us_mean = std::accumulate(asks.begin(), asks.end(), 0.0) / static_cast<double>(asks.size());
    const auto high = asks.begin() + static_cast<std::ptrdiff_t>(0.99 * static_cast<double>(asks.size() - 1));
    std::ranges::nth_element(asks, high);
    result.ask_us_p99 = static_cast<double>(*high);
  }
}

}  // namespace

std::vector<double> curve_points(const std::vector<double>& budgets, CostUnit unit) {
  const double last = budgets.back(), first = unit == CostUnit::kEvaluations ? 1.0 : last / 200.0;
  std::vector<double> points = budgets;
  for (std::size_t i = 0; i < kCurvePoints; ++i) {
    const double point = first * std::pow(last / first, static_cast<double>(i) / (kCurvePoints - 1));
    points.push_back(unit == CostUnit::kEvaluations ? std::min(std::round(point), last) : std::min(point, last));
  }
  std::ranges::sort(points);
  points.erase(std::unique(points.begin(), points.end()), points.end());
  return points;
}

StrategyResult summarize(const CompareRequest::Entry& entry, std::span<const SpaceRuns> spaces, const ReadingPoints& at,
                         std::size_t repeats, std::uint64_t seed) {
  StrategyResult result;
  result.label = entry.label;
  result.name = entry.strategy->name();
  result.settings = entry.settings;
  std::vector<std::vector<std::vector<double>>> tables;
  std::vector<std::vector<double>> curves;
  for (const SpaceRuns& space : spaces) {
    SpaceResult& one = result.per_space.emplace_back();
    tables.push_back(by_repeat(space, at.budgets, repeats));
    one.curve = mean_of(by_repeat(space, at.curve_at, repeats));
    curves.push_back(one.curve);
    one.score = space.scorer->score(space.runs);
    for (const Run& run : space.runs) {
      one.evaluations_to_95 += evaluations_to_enough(*space.table, run) / static_cast<double>(space.runs.size());
    }
    result.score += one.score / static_cast<double>(spaces.size());
    result.evaluations_to_95 += one.evaluations_to_95 / static_cast<double>(spaces.size());
  }
  result.curve = mean_of(curves);
  estimate(result, tables, seed);
  tally(result, spaces);
  return result;
}

std::vector<std::vector<std::vector<std::string>>> winners(const std::vector<StrategyResult>& strategies, std::size_t budgets,
                                                           std::size_t spaces) {
  std::vector<std::vector<std::vector<std::string>>> wins(budgets, std::vector<std::vector<std::string>>(spaces));
  for (std::size_t b = 0; b < budgets; ++b) {
    for (std::size_t s = 0; s < spaces; ++s) {
      const auto of = [&](const StrategyResult& result) -> const Estimate& { return result.per_space[s].fractions[b]; };
      const auto best = std::ranges::max_element(strategies, {}, [&](const StrategyResult& result) { return of(result).mean; });
      wins[b][s].push_back(best->label);
      for (const StrategyResult& other : strategies) {
        if (&other != &*best && of(other).high >= of(*best).low) {
          wins[b][s].push_back(other.label);
        }
      }
    }
  }
  return wins;
}

}  // namespace hone::compare
