#pragma once
// Trials of a made-up kernel.

#include <string>
#include <vector>

#include "engine/device/trial.hpp"
#include "engine/report/session_study.hpp"

namespace hone::report::test {

/// block = 64, 128, 256 (default 64), vec = 1, 2, 4 (default 1), fast = false, true (default false).
inline std::vector<Parameter> parameters() {
  std::vector<Parameter> all(3);
  all[0].name = "block";
  all[0].values = {Value(std::int64_t{64}), Value(std::int64_t{128}), Value(std::int64_t{256})};
  all[0].default_value = all[0].values[0];
  all[1].name = "vec";
  all[1].values = {Value(std::int64_t{1}), Value(std::int64_t{2}), Value(std::int64_t{4})};
  all[1].default_value = all[1].values[0];
  all[2].name = "fast";
  all[2].kind = ParameterKind::kBoolean;
  all[2].values = {Value(false), Value(true)};
  all[2].default_value = all[2].values[0];
  return all;
}

inline Configuration configuration(std::int64_t block, std::int64_t vec, bool fast) {
  return {.values = {Value(block), Value(vec), Value(fast)}};
}

/// Right, with an interval of 1 % to either side.
inline Trial right(Configuration configuration, double time_us) {
  Trial trial;
  trial.configuration = std::move(configuration);
  trial.measurement = {
      .samples_us = {time_us, time_us}, .median_us = time_us, .ci95_low_us = 0.99 * time_us, .ci95_high_us = 1.01 * time_us};
  trial.seconds = {.compile = 0.5, .validate = 0.25, .time = 0.125, .overhead = 0.0625};
  return trial;
}

inline Trial failed(Configuration configuration, Outcome outcome, std::string detail) {
  Trial trial;
  trial.configuration = std::move(configuration);
  trial.outcome = outcome;
  trial.detail = std::move(detail);
  trial.seconds.compile = 1.0;
  return trial;
}

}  // namespace hone::report::test
