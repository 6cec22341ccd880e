#pragma once
// Runs a strategy on a space with made-up times.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/plugin/registry.hpp"
#include "engine/plugin/strategy.hpp"

namespace hone::test {

/// The space must outlive what is made of it.
inline StrategyContext context_of(const SearchSpace& space, std::uint64_t seed, Count default_position = 0) {
  StrategyContext context;
  context.space = {std::shared_ptr<const SearchSpace>(), &space};
  context.seed = seed;
  context.first = default_position;
  return context;
}

inline Strategy create(std::string_view name, StrategyContext context) {
  return builtin_registry().strategy(name).value()->create(std::move(context)).value();
}

inline Strategy create(std::string_view name, const SearchSpace& space, std::uint64_t seed, Count default_position = 0) {
  return create(name, context_of(space, seed, default_position));
}

inline SearchSpace wide_space(std::size_t parameters, int values) {
  std::vector<Parameter> all;
  for (std::size_t p = 0; p < parameters; ++p) {
    Parameter& parameter = all.emplace_back();
    parameter.name = "x" + std::to_string(p);
    for (int value = 0; value < values; ++value) {
      parameter.values.emplace_back(value);
    }
    parameter.default_value = parameter.values.front();
  }
  return std::move(SearchSpace::build(std::move(all), {}, {})).value();
}

/// A strategy of this build needs none of the engine's guards.
inline void check_faultless(const Strategy& strategy) {
  const StrategyFaults& faults = strategy.faults();
  CHECK_MESSAGE(faults.failed == 0, faults.first);
  CHECK(faults.invalid == 0);
  CHECK(faults.repeated == 0);
  CHECK(faults.stalled == 0);
  CHECK(faults.idle == 0);
}

/// A bowl over the positions of values with a few failures in it.
inline Observation bowl(const SearchSpace& space, Count position) {
  Observation observation;
  observation.position = position;
  const Configuration configuration = space.at(position);
  double log_time = 1.0;
  std::size_t sum = 0;
  for (std::size_t p = 0; p < configuration.values.size(); ++p) {
    const auto& values = space.parameters()[p].values;
    const auto digit = std::find(values.begin(), values.end(), configuration.values[p]) - values.begin();
    const double off = static_cast<double>(digit) / static_cast<double>(values.size()) - 0.4;
    log_time += 2.0 * off * off;
    sum += static_cast<std::size_t>(digit) * (p + 1);
  }
  observation.time_us = std::exp(log_time);
  observation.outcome = sum % 11 == 3 ? Outcome::kLaunchFailure : Outcome::kOk;
  return observation;
}

/// Of the bowl: a failure counts as slower than all.
inline double log_time(const SearchSpace& space, Count position) {
  constexpr double kRim = 10.0;
  const Observation seen = bowl(space, position);
  return seen.outcome == Outcome::kOk ? std::log(seen.time_us) : kRim;
}

inline double best_log_time(const SearchSpace& space, std::span<const Count> proposed) {
  double best = 1e300;
  for (const Count position : proposed) {
    best = std::min(best, log_time(space, position));
  }
  return best;
}

inline double median_log_time(const SearchSpace& space, std::span<const Count> proposed) {
  std::vector<double> times;
  for (const Count position : proposed) {
    times.push_back(log_time(space, position));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// In how many parameters two configurations differ.
inline std::size_t hamming(const SearchSpace& space, Count a, Count b) {
  const Digits of_a = space.digits(a), of_b = space.digits(b);
  std::size_t differing = 0;
  for (std::size_t p = 0; p < of_a.size(); ++p) {
    differing += of_a[p] != of_b[p] ? 1 : 0;
  }
  return differing;
}

inline Observation failure(const SearchSpace&, Count position) {
  Observation observation;
  observation.position = position;
  observation.outcome = Outcome::kCompileError;
  return observation;
}

/// Asks in batches and tells outcomes last first, one batch behind, until `budget` proposals or the end. The default is told first, as a
/// session does.
template <class Observe>
std::vector<Count> run(Strategy& strategy, const SearchSpace& space, std::size_t batch, std::size_t budget, const Observe& observe,
                       Count default_position = 0) {
  const Observation standard = observe(space, default_position);
  strategy.tell({&standard, 1});
  std::vector<Count> proposed;
  std::vector<Observation> late;
  while (proposed.size() < budget && !strategy.exhausted()) {
    const std::vector<Count> asked = strategy.ask(batch);
    strategy.tell(late);
    if (asked.empty() && late.empty()) {
      break;
    }
    late.clear();
    for (auto position = asked.rbegin(); position != asked.rend(); ++position) {
      late.push_back(observe(space, *position));
    }
    proposed.insert(proposed.end(), asked.begin(), asked.end());
  }
  check_faultless(strategy);
  return proposed;
}

}  // namespace hone::test
