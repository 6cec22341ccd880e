#include "engine/compare/search_run.hpp"

#include <algorithm>
#include <chrono>

#include "engine/compare/transfer.hpp"

namespace hone::compare {
namespace {

double microseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

/// Spends what is left on configurations in order of position.
void fill(const SpaceTable& table, double left, std::vector<std::uint32_t>& positions) {
  std::vector<bool> tried(table.size());
  for (const std::uint32_t position : positions) {
    tried[position] = true;
  }
  for (std::uint32_t position = 0; position < table.size() && left > 0.0; ++position) {
    if (!tried[position]) {
      positions.push_back(position);
      left -= table.cost[position];
    }
  }
}

}  // namespace

Observation observation_of(const SpaceTable& table, std::size_t position) {
  const RecordedTrial& trial = *table.recorded->find(position);
  return {.position = position,
          .outcome = trial.outcome,
          .time_us = trial.time_us,
          .resources = {},
          .cost_seconds = table.seconds[position],
          .compile_seconds = trial.seconds.compile};
}

Result<Run> search(const RunPlan& plan) {
  const SpaceTable& table = *plan.table;
  StrategyContext context;
  context.space = table.recorded->shared_space();
  context.seed = plan.seed;
  context.parameters = plan.entry->settings;
  context.expected_trials = draws_for(table, plan.budget);
  context.priors = plan.shuffle ? shuffled(*plan.priors, plan.seed) : *plan.priors;
  HONE_ASSIGN(Strategy strategy, plan.entry->strategy->create(std::move(context)));
  Run run;
  double spent = 0.0;
  std::vector<Observation> observations;
  const double best = table.sorted.empty() ? 0.0 : table.best();
  bool optimum = false;
  while (!optimum && spent < plan.budget && run.positions.size() < table.size()) {
    const auto start = std::chrono::steady_clock::now();
    const std::vector<Count> asked = strategy.ask(plan.batch);
    observations.clear();
    for (const Count position : asked) {
      observations.push_back(observation_of(table, static_cast<std::size_t>(position)));
    }
    strategy.tell(observations);
    if (asked.empty()) {
      break;
    }
    const double took = microseconds_since(start) / static_cast<double>(asked.size());
    for (const Count position : asked) {
      run.positions.push_back(static_cast<std::uint32_t>(position));
      run.ask_us.push_back(static_cast<float>(took));
      spent += table.cost[static_cast<std::size_t>(position)];
      optimum = optimum || table.time_us[static_cast<std::size_t>(position)] == best;
    }
  }
  if (optimum) {
    fill(table, plan.budget - spent, run.positions);
  }
  strategy.end();
  run.faults = strategy.faults();
  run.own_seconds = strategy.seconds();
  return run;
}

}  // namespace hone::compare
