#include "engine/store/expectation_evidence.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/space/likely_space.hpp"
#include "engine/store/lookup.hpp"

namespace hone {
namespace {

constexpr std::size_t kMostEvidence = 4000;  // of one problem
constexpr double kClearly = 1.01;

/// Right trials of today's legal configurations, the fastest first.
std::vector<Trial> usable(History history, const KernelSpec& spec, const DeviceInfo& device) {
  std::erase_if(history.trials, [](const Trial& trial) { return trial.outcome != Outcome::kOk; });
  std::ranges::stable_sort(history.trials, {}, [](const Trial& trial) { return trial.measurement.median_us; });
  std::erase_if(history.trials, [&](const Trial& trial) { return !valid_for(spec, history.problem, device, trial.configuration); });
  return std::move(history.trials);
}

/// Time of the fastest that meets expectation `i`; nothing if none does.
std::optional<double> fastest_that_meets(std::size_t i, const std::vector<Trial>& trials, const KernelSpec& spec, const Bindings& fixed) {
  const std::vector<Constraint> alone{spec.expectations[i]};
  for (const Trial& trial : trials) {
    if (broken(alone, spec.parameters, fixed, trial.configuration).empty()) {
      return trial.measurement.median_us;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<ExpectationEvidence>> expectation_evidence(const KernelSpec& spec, const DeviceInfo& device, Store& store) {
  std::vector<ExpectationEvidence> all(spec.expectations.size());
  HONE_ASSIGN(std::vector<History> histories, store.histories(spec.name, spec.parameters, 0, kMostEvidence));
  for (History& history : histories) {
    if (history.product != device.product || history.purpose.objective != Purpose{}.objective) {
      continue;
    }
    const Problem problem = history.problem;
    const std::vector<Trial> trials = usable(std::move(history), spec, device);
    if (trials.empty()) {
      continue;
    }
    Bindings fixed = bindings(problem);
    fixed.merge(bindings(device));
    for (ExpectationEvidence& evidence : all) {
      ++evidence.problems;
    }
    for (const std::size_t i : broken(spec.expectations, spec.parameters, fixed, trials.front().configuration)) {
      const double fastest = trials.front().measurement.median_us;
      const double factor = fastest_that_meets(i, trials, spec, fixed).value_or(0.0) / fastest;
      all[i].against += factor > kClearly ? 1 : 0;
      if (factor > std::max(all[i].factor, kClearly)) {
        all[i].factor = factor;
        all[i].where = fmt::format("{} {}", name(problem.dtype), text(problem.shape));
      }
    }
  }
  return all;
}

}  // namespace hone
