#pragma once
// The community's score: how far a strategy is from the calculated random search to the optimum.

#include <span>

#include "engine/compare/search_run.hpp"

namespace hone::compare {

/// The definition is that of the package autotuning_methodology 1.1 (Willemsen et al., FGCS 159, 2024), get_strategy_scores, with cost in
/// place of time and its default settings. In short: runs and baseline are curves of the rank of the best found over cost. The curve of the
/// runs is a falling (isotonic) fit to all their evaluations, bagged; the baseline is the expected rank after as many draws among the
/// configurations that work as the cost pays for. Both ranks are turned into times, and (baseline - found) / (baseline - optimum) is
/// averaged between the costs at which the baseline has gone 1 % and 95 % of the way from the median to the optimum. Three things differ:
/// the range ends at the budget of the runs, where nothing is known beyond it (the package holds the last value, by which random search
/// falls below its own expectation); points where the baseline is at the optimum, which the package refuses, are left out; the bags are
/// drawn from a fixed seed.
class Scorer {
 public:
  /// `budget`: what the runs may spend.
  Scorer(const SpaceTable& table, double budget);

  /// The range of costs, and where it would end without a budget.
  [[nodiscard]] double from() const { return from_; }
  [[nodiscard]] double to() const { return to_; }
  [[nodiscard]] double full_to() const { return full_to_; }

  [[nodiscard]] double score(std::span<const Run> runs) const;

 private:
  [[nodiscard]] double cost_at(std::size_t point) const;
  [[nodiscard]] double drawn_time(double draws) const;
  [[nodiscard]] std::vector<double> baseline() const;

  const SpaceTable& table_;
  double from_ = 0.0, to_ = 0.0, full_to_ = 0.0;
  std::vector<double> baseline_;
};

}  // namespace hone::compare
