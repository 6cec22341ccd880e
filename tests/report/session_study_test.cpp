#include "engine/report/session_study.hpp"

#include <doctest/doctest.h>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/replay/recorded_space.hpp"
#include "tests/report/study_fixture.hpp"

namespace hone::report::test {
namespace {

SessionSource source(std::vector<Trial> trials) { return {.session = {}, .parameters = parameters(), .trials = std::move(trials)}; }

Trial finalist(Trial trial) {
  trial.final_round = true;
  return trial;
}

}  // namespace

TEST_CASE("the fastest of the final round wins, not what looked faster in the search") {
  const SessionStudy found =
      study(source({finalist(right(configuration(64, 1, false), 10.0)), right(configuration(128, 1, false), 4.0),
                    finalist(right(configuration(128, 2, false), 5.0)), finalist(right(configuration(256, 2, false), 5.05))}));
  CHECK(found.standard == 0);
  CHECK(found.winner == 2);
  CHECK(found.final_round);
  CHECK(found.faster_in_search == 1);
  CHECK(found.fastest_us == 4.0);
  CHECK(found.tied == std::vector<std::size_t>{3});
  CHECK(found.speedup == doctest::Approx(2.0));
  CHECK(found.speedup_low == doctest::Approx(9.9 / 5.05));
  CHECK(found.speedup_high == doctest::Approx(10.1 / 4.95));
}

TEST_CASE("what the session made the record is its winner: of a tie, the record that was there stays") {
  SessionSource made = source({finalist(right(configuration(64, 1, false), 10.0)), finalist(right(configuration(128, 2, false), 5.0)),
                               finalist(right(configuration(256, 2, false), 5.05))});
  made.record = text(made.parameters, made.trials[2].configuration);
  const SessionStudy found = study(std::move(made));
  CHECK(found.winner == 2);
  CHECK(found.tied == std::vector<std::size_t>{1});
}

TEST_CASE("without a final round the fastest that was measured to the end wins") {
  Trial raced = right(configuration(256, 4, true), 1.0);
  raced.measurement.raced_out = true;
  const SessionStudy found = study(source({right(configuration(64, 1, false), 10.0), raced, right(configuration(128, 1, false), 4.0)}));
  CHECK(found.winner == 2);
  CHECK_FALSE(found.final_round);
  REQUIRE(found.improvements.size() == 2);
  CHECK(found.improvements[1].trials == 3);
  CHECK(found.trials_to_one_percent == 3);
}

TEST_CASE("a session without a right trial has no winner and no random search") {
  const SessionStudy found = study(source({failed(configuration(64, 1, false), Outcome::kWrongResult, "off")}));
  CHECK_FALSE(found.winner.has_value());
  CHECK_FALSE(found.standard.has_value());
  CHECK_FALSE(found.random.has_value());
  CHECK(found.failures.size() == 1);
  CHECK(study(source({})).trials.empty());
}

TEST_CASE("the calculated random search counts failures as draws") {
  const SessionStudy found =
      study(source({right(configuration(64, 1, false), 10.0), failed(configuration(64, 2, false), Outcome::kRace, "")}));
  REQUIRE(found.random.has_value());
  REQUIRE(found.random->expected_us.size() == 2);
  CHECK(found.random->expected_us[0] == doctest::Approx(20.0));  // with one draw it is found in half of the cases
  CHECK(found.random->expected_us[1] == doctest::Approx(10.0));
  CHECK(found.random->draws_to_winner == 2);
  CHECK_FALSE(found.random->whole_space);
}

TEST_CASE("seconds are summed by what came of the trials") {
  const SessionStudy found = study(source({right(configuration(64, 1, false), 10.0), right(configuration(64, 2, false), 9.0),
                                           failed(configuration(64, 4, false), Outcome::kCompileError, "")}));
  REQUIRE(found.stages.size() == 2);
  CHECK(found.stages[0].what == "right");
  CHECK(found.stages[0].trials == 2);
  CHECK(found.stages[0].seconds.total() == doctest::Approx(2.0 * 0.9375));
  CHECK(found.stages[1].seconds.compile == 1.0);
}

TEST_CASE("throttling is told in words, and idleness is none") {
  CHECK(throttle_words(0x1).empty());
  CHECK(throttle_words(0x4 | 0x40) == std::vector<std::string>{"power cap", "thermal slowdown (hardware)"});
  Trial hot = right(configuration(64, 1, false), 10.0);
  hot.readings = {.sm_clock_mhz = 1500.0,
                  .memory_clock_mhz = 0.0,
                  .temperature_c = 80.0,
                  .power_w = 600.0,
                  .throttle_reasons = 0x4,
                  .discarded_samples = 3};
  const SessionStudy found = study(source({hot}));
  CHECK(found.device.throttled_trials == 1);
  CHECK(found.device.discarded_samples == 3);
  CHECK(found.device.lowest_mhz == 1500.0);
}

TEST_CASE("expectations are right, wrong or untested by what the trials show") {
  KernelSpec spec;
  spec.parameters = parameters();
  const auto expectation = [](const char* name, std::int64_t least) {
    return Constraint{
        .condition = Expression::make(Operator::kGreaterEqual, {Expression::variable(name), Expression::constant(Value(least))}),
        .text = name};
  };
  spec.expectations = {expectation("c.block", 128), expectation("c.vec", 2), expectation("c.block", 64)};
  DeviceInfo device;
  SessionSource trials = source(
      {right(configuration(64, 1, false), 10.0), right(configuration(128, 1, false), 4.0), right(configuration(128, 2, false), 8.0)});
  trials.spec = &spec;
  trials.device = &device;
  const SessionStudy found = study(std::move(trials));
  REQUIRE(found.expectations.size() == 3);
  CHECK(found.expectations[0].verdict == Verdict::kRight);
  CHECK(found.expectations[1].verdict == Verdict::kWrong);
  CHECK(found.expectations[1].broken_by_winner);
  CHECK(found.expectations[2].verdict == Verdict::kUntested);
}

TEST_CASE("of a recorded space the optimum and the effects of all configurations are known") {
  const RecordedSpace space = RecordedSpace::parse(R"({"device_name": "D", "kernel_name": "k", "objective": "time",
    "tune_params_keys": ["a"], "tune_params": {"a": [1, 2, 3]},
    "cache": {"1": {"a": 1, "time": 4.0, "times": [4.0]}, "2": {"a": 2, "time": 2.0, "times": [2.0]}, "3": {"a": 3, "time": 1.0, "times": [1.0]}}})",
                                                   "k.json")
                                  .value();
  SessionSource some{.session = {}, .parameters = space.space().parameters(), .trials = {}};
  some.trials = {right({.values = {Value(std::int64_t{1})}}, 4000.0), right({.values = {Value(std::int64_t{2})}}, 2000.0)};
  some.recorded = &space;
  const SessionStudy found = study(std::move(some));
  REQUIRE(found.random.has_value());
  CHECK(found.random->whole_space);
  CHECK(found.random->configurations == 3);
  CHECK(found.random->best_us == 1000.0);
  CHECK(found.random->draws_to_winner == 1);
  CHECK(found.effects_of_whole_space);
  CHECK(found.effects.parameters[0].values[2].best_us == 1000.0);
}

}  // namespace hone::report::test
