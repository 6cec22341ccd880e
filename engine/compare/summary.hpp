#pragma once
// From runs to the figures of the report.

#include <span>

#include "engine/compare/score.hpp"

namespace hone::compare {

/// Where results are read, in the unit of the budgets.
struct ReadingPoints {
  std::vector<double> budgets, curve_at;
};

/// A strategy's runs on one space: repeat r with source q is runs[q * repeats + r].
struct SpaceRuns {
  const SpaceTable* table = nullptr;
  const Scorer* scorer = nullptr;
  std::vector<Run> runs;
};

/// Points at which curves are drawn: closer together at the start, and the budgets.
std::vector<double> curve_points(const std::vector<double>& budgets, CostUnit unit);

StrategyResult summarize(const CompareRequest::Entry& entry, std::span<const SpaceRuns> spaces, const ReadingPoints& at,
                         std::size_t repeats, std::uint64_t seed);

/// For each budget and space, who has the highest mean; see CompareReport::wins.
std::vector<std::vector<std::vector<std::string>>> winners(const std::vector<StrategyResult>& strategies, std::size_t budgets,
                                                           std::size_t spaces);

}  // namespace hone::compare
