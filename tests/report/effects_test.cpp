#include "engine/report/effects.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/report/study_fixture.hpp"

namespace hone::report::test {
namespace {

/// All 18 configurations: block decides, vec helps a little, fast does nothing.
std::vector<Trial> all_trials() {
  std::vector<Trial> trials;
  for (const std::int64_t block : {64, 128, 256}) {
    for (const std::int64_t vec : {1, 2, 4}) {
      for (const bool fast : {false, true}) {
        trials.push_back(right(configuration(block, vec, fast), 25600.0 / static_cast<double>(block) + 2.0 / static_cast<double>(vec)));
      }
    }
  }
  return trials;
}

const ValueStudy& value_of(const Effects& effects, std::size_t parameter, const std::string& text) {
  const auto study = std::ranges::find(effects.parameters, parameter, &ParameterStudy::index);
  return *std::ranges::find(study->values, text, &ValueStudy::text);
}

}  // namespace

TEST_CASE("the fastest configuration with each value is found, and how many ended how") {
  std::vector<Trial> trials = all_trials();
  trials.push_back(failed(configuration(256, 4, true), Outcome::kWrongResult, "off by 3"));
  trials.push_back(failed(configuration(256, 4, true), Outcome::kTooSlow, ""));
  const Effects effects = effects_of(parameters(), trials, nullptr);
  CHECK(value_of(effects, 0, "256").best_us == 100.5);
  CHECK(value_of(effects, 0, "64").best_us == 400.5);
  CHECK(value_of(effects, 1, "1").best_us == 102.0);
  CHECK(value_of(effects, 2, "false").best_us == 100.5);
  CHECK(value_of(effects, 0, "256").right == 6);
  CHECK(value_of(effects, 0, "256").failed == 1);
  CHECK(value_of(effects, 0, "256").too_slow == 1);
  CHECK(effects.reach.empty());
}

TEST_CASE("a value that only lost races reaches what they showed, others what was measured to the end") {
  std::vector<Trial> trials{right(configuration(64, 1, false), 10.0), right(configuration(64, 2, false), 5.0),
                            right(configuration(128, 2, false), 7.0)};
  trials[1].measurement.raced_out = true;
  trials[2].measurement.raced_out = true;
  const Effects effects = effects_of(parameters(), trials, nullptr);
  CHECK(value_of(effects, 0, "64").best_us == 10.0);
  CHECK(value_of(effects, 0, "128").best_us == 7.0);
  CHECK_FALSE(value_of(effects, 0, "256").best_us.has_value());
}

TEST_CASE("parameters come in the order of what they matter, and the first of them reaches almost everything") {
  std::vector<Trial> trials = all_trials(), again = all_trials();
  trials.insert(trials.end(), again.begin(), again.end());  // enough for shares
  const Configuration standard = configuration(64, 1, false);
  const Effects effects = effects_of(parameters(), trials, &standard);
  REQUIRE(effects.parameters.front().index == 0);
  CHECK(effects.parameters.front().share > 0.95);
  CHECK(effects.explained > 0.9);
  REQUIRE(effects.reach.size() == 4);
  CHECK(effects.reach[0].best_us == 402.0);  // the default
  CHECK(effects.reach[1].best_us == 102.0);  // block alone
  CHECK(effects.reach[3].best_us == 100.5);  // all of them
  CHECK(effects.reach[3].right == trials.size());
  CHECK(value_of(effects, 0, "64").effect > value_of(effects, 0, "256").effect);
}

TEST_CASE("a few trials give no shares") {
  const std::vector<Trial> trials = all_trials();
  REQUIRE(trials.size() < kFewestForShares);
  const Effects effects = effects_of(parameters(), trials, nullptr);
  CHECK(effects.observations == trials.size());
  CHECK(std::ranges::all_of(effects.parameters, [](const ParameterStudy& study) { return study.share == 0.0; }));
  CHECK_FALSE(effects.explains());
}

}  // namespace hone::report::test
