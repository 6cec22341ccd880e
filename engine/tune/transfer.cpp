#include "engine/tune/transfer.hpp"

namespace hone {
namespace {

constexpr std::size_t kMostTrials = 1000;  // of one problem on one device

Prior prior_of(const History& history, const SearchSpace& space) {
  Prior prior{history.product, name(history.problem.dtype), text(history.problem.shape), {}};
  for (Trial trial : history.trials) {
    if (const std::optional<Count> position = space.index(trial.configuration)) {
      trial.position = *position;
      prior.observations.push_back(observation_of(trial));
    }
  }
  return prior;
}

}  // namespace

Observation observation_of(const Trial& trial) {
  return {.position = trial.position,
          .outcome = trial.outcome,
          .time_us = trial.measurement.median_us,
          .resources = trial.resources,
          .cost_seconds = trial.seconds.total(),
          .compile_seconds = trial.seconds.compile};
}

Result<std::vector<Prior>> priors(const KernelSpec& spec, const SearchSpace& space, Store& store, std::int64_t session) {
  HONE_ASSIGN(const std::vector<History> histories, store.histories(spec.name, spec.parameters, session, kMostTrials));
  std::vector<Prior> known;
  for (const History& history : histories) {
    known.push_back(prior_of(history, space));
  }
  return known;
}

}  // namespace hone
