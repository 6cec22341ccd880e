#include "engine/tune/transfer.hpp"

#include <algorithm>

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

Result<std::vector<Configuration>> fastest_known(const RecordKey& key, const KernelSpec& spec, Store& store, std::size_t most) {
  std::vector<Configuration> fastest;
  RecordKey by_time = key;
  by_time.purpose.objective = name(Objective{});
  HONE_ASSIGN(const std::optional<Record> record, store.find_record(by_time, spec.parameters));
  if (record) {
    fastest.push_back(record->configuration);
  }
  HONE_ASSIGN(const std::vector<History> histories, store.histories(spec.name, spec.parameters, 0, kMostTrials));
  std::vector<const Trial*> right;
  for (const History& history : histories) {
    for (const Trial& trial : history.trials) {
      if (history.product == key.device.product && history.problem == key.problem && trial.outcome == Outcome::kOk) {
        right.push_back(&trial);
      }
    }
  }
  std::ranges::sort(right, {}, [](const Trial* trial) { return trial->measurement.median_us; });
  for (const Trial* const trial : right) {
    if (fastest.size() < most && std::ranges::find(fastest, trial->configuration) == fastest.end()) {
      fastest.push_back(trial->configuration);
    }
  }
  return fastest;
}

}  // namespace hone
