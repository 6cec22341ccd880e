#pragma once
// One search: a strategy, answered from a recorded space.

#include "engine/compare/space_table.hpp"

namespace hone::compare {

struct Run {
  std::vector<std::uint32_t> positions;  ///< evaluated, in order
  std::vector<float> ask_us;             ///< of each evaluation that was asked for, what the strategy took to propose it and to hear of it
  StrategyFaults faults;
  double own_seconds = 0.0;
};

struct RunPlan {
  const SpaceTable* table = nullptr;
  const CompareRequest::Entry* entry = nullptr;
  const std::vector<Prior>* priors = nullptr;
  bool shuffle = false;  ///< the priors
  std::uint64_t seed = 0;
  double budget = 0.0;  ///< in the unit of the table's costs
  std::size_t batch = 1;
};

Observation observation_of(const SpaceTable& table, std::size_t position);

/// Until the budget is spent or the space is at its end. A search that has found the optimum is over, since nothing it would try matters
/// any more: arbitrary evaluations take the place of the rest.
Result<Run> search(const RunPlan& plan);

}  // namespace hone::compare
