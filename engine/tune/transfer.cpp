#include "engine/tune/transfer.hpp"

#include <algorithm>
#include <limits>

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

Result<std::vector<Count>> fastest_known(const RecordKey& key, const KernelSpec& spec, const SearchSpace& space, Store& store,
                                         std::size_t most) {
  std::vector<Count> fastest;
  const auto add = [&](const Configuration& configuration) {
    const std::optional<Count> position = space.index(configuration);
    if (position && fastest.size() < most && std::ranges::find(fastest, *position) == fastest.end()) {
      fastest.push_back(*position);
    }
  };
  RecordKey by_time = key;
  by_time.purpose.objective = name(Objective{});
  HONE_ASSIGN(const std::optional<Record> record, store.find_record(by_time, spec.parameters));
  if (record) {
    add(record->configuration);
  }
  HONE_ASSIGN(const std::vector<History> histories,
              store.histories(spec.name, spec.parameters, 0, std::numeric_limits<std::size_t>::max()));  // the best come late
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
    add(trial->configuration);
  }
  return fastest;
}

}  // namespace hone
