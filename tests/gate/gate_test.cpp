#include "engine/gate/gate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace hone::gate::test {
namespace {

Trial timed(double us) {
  Trial trial;
  trial.measurement.median_us = us;
  return trial;
}

Trial failed(Outcome outcome) {
  Trial trial;
  trial.outcome = outcome;
  trial.detail = "as planted";
  return trial;
}

/// How times vary: standard deviations of logarithms.
struct Model {
  double machine = 0.03;   ///< clocks of a freshly started machine, which the control has, too
  double run = 0.004;      ///< what a machine does to one case and not to the control
  double process = 0.005;  ///< from one process to the next
  double control = 0.002;
  double disturbed = 0.03;  ///< share of processes that are slower by 5 % to 30 %
};

/// A machine that is started for each run of the suite; cases have their own times.
class Machines {
 public:
  Machines(std::uint64_t seed, const Model& model, std::size_t cases) : random_(seed), model_(model) {
    for (std::size_t i = 0; i < cases; ++i) {
      usual_us_.push_back(10.0 * std::exp(normal(1.0)));
      noisier_.push_back(std::exp(normal(0.4)));
    }
    cases_.resize(cases);
    for (std::size_t i = 0; i < cases; ++i) {
      cases_[i].name = "case " + std::to_string(i);
      cases_[i].control = 0;
    }
  }

  /// The suite on a machine started now; `slower` by case.
  std::vector<Finding> run(const std::vector<double>& slower = {}) {
    const double clock = normal(model_.machine);
    std::vector<double> own;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      own.push_back(normal(model_.run * noisier_[i]) + (i < slower.size() ? std::log1p(slower[i]) : 0.0));
    }
    const auto measure = [&](const Measurable& what) -> Result<Trial> {
      ++processes;
      const double shared = clock + disturbance();
      if (what.is_control) {
        return timed(50.0 * std::exp(shared + normal(model_.control)));
      }
      return timed(usual_us_[what.index] * std::exp(shared + own[what.index] + normal(model_.process * noisier_[what.index])));
    };
    Result<std::vector<Finding>> findings = run_gate({.controls = {"control"}, .cases = cases_, .measure = measure});
    REQUIRE(findings.ok());
    return std::move(findings).value();
  }

  /// What is found is from now on expected.
  void record() {
    const std::vector<Finding> findings = run();
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      Expectation expected = cases_[i].expected.value_or(Expectation{});
      expected.runs.push_back(*findings[i].level);
      cases_[i].expected = expected;
    }
  }

  int processes = 0;

 private:
  double normal(double deviation) { return std::normal_distribution<double>(0.0, 1.0)(random_) * deviation; }
  double disturbance() {
    return std::uniform_real_distribution<double>()(random_) < model_.disturbed ? std::uniform_real_distribution<double>(0.05, 0.3)(random_)
                                                                                : 0.0;
  }

  std::mt19937_64 random_;
  Model model_;
  std::vector<double> usual_us_, noisier_;
  std::vector<Case> cases_;
};

struct Rates {
  int alarmed_runs = 0, runs = 0, caught = 0, planted = 0;
  [[nodiscard]] double caught_share() const { return static_cast<double>(caught) / planted; }
};

/// `suites` suites of a dozen cases, each recorded on five machines and run on fifty others: alarms; and once for each case with a planted
/// slowdown.
Rates rates(const Model& model, double slowdown, int suites) {
  constexpr std::size_t kCases = 12;
  constexpr int kRecorded = 5, kRuns = 50;
  Rates rates;
  for (int suite = 0; suite < suites; ++suite) {
    Machines machines(static_cast<std::uint64_t>(suite), model, kCases);
    for (int i = 0; i < kRecorded; ++i) {
      machines.record();
    }
    for (int i = 0; i < kRuns; ++i, ++rates.runs) {
      rates.alarmed_runs += std::ranges::any_of(machines.run(), is_alarm, &Finding::verdict) ? 1 : 0;
    }
    for (std::size_t place = 0; place < kCases; ++place, ++rates.planted) {
      std::vector<double> slower(kCases, 0.0);
      slower[place] = slowdown;
      rates.caught += machines.run(slower)[place].verdict == Verdict::kSlower ? 1 : 0;
    }
  }
  return rates;
}

std::vector<Finding> run_one(const std::optional<Expectation>& expected, const std::function<Result<Trial>(int)>& process) {
  int count = 0;
  const auto measure = [&](const Measurable&) { return process(count++); };
  auto findings = run_gate({.controls = {}, .cases = {{"one", std::nullopt, expected}}, .measure = measure});
  REQUIRE(findings.ok());
  return std::move(findings).value();
}

const Expectation kHundred{Outcome::kOk, {{100.0, 100.0}, {100.0, 100.0}, {100.0, 100.0}}};

}  // namespace

TEST_CASE("fresh machines with different clocks raise no alarm, and a planted 5 % is caught") {
  const Rates usual = rates({}, 0.05, 10);
  CHECK(usual.alarmed_runs <= 2);  // of 500
  CHECK(usual.caught_share() > 0.95);
}

TEST_CASE("machines that are disturbed often raise no alarm either") {
  const Rates disturbed = rates({.process = 0.01, .disturbed = 0.15}, 0.10, 6);
  CHECK(disturbed.alarmed_runs <= 2);  // of 300
  CHECK(disturbed.caught_share() > 0.9);
}

TEST_CASE("where machines differ more than their controls tell, more is allowed and alarms stay rare") {
  const Rates noisy = rates({.run = 0.02}, 0.25, 6);
  CHECK(noisy.alarmed_runs <= 6);  // of 300
  CHECK(noisy.caught_share() > 0.9);
}

TEST_CASE("a quiet run takes no more processes than it has to") {
  Machines machines(1, {.machine = 0.0, .run = 0.0, .process = 0.0, .control = 0.0, .disturbed = 0.0}, 4);
  machines.record();
  CHECK(machines.processes == 5 * (4 + 1));
  machines.run();
  CHECK(machines.processes == 2 * 5 * (4 + 1));
}

TEST_CASE("what looks slower is measured again in fresh processes, which decide") {
  const auto disturbed = run_one(kHundred, [](int process) { return timed(process < 5 ? 200.0 : 100.0); });
  CHECK(disturbed[0].verdict == Verdict::kOk);
  CHECK(disturbed[0].measured_again);
  CHECK(disturbed[0].times_us.size() == 15);
  const auto slower = run_one(kHundred, [](int) { return timed(200.0); });
  CHECK(slower[0].verdict == Verdict::kSlower);
  CHECK(slower[0].change == doctest::Approx(1.0));
}

TEST_CASE("one wrong result is enough, whatever was recorded") {
  const auto wrong = run_one(kHundred, [](int process) { return process == 3 ? failed(Outcome::kWrongResult) : timed(100.0); });
  CHECK(wrong[0].verdict == Verdict::kWrong);
  CHECK(wrong[0].detail == "as planted");
  CHECK_FALSE(wrong[0].level);
  const Expectation known{Outcome::kWrongResult, {}};
  CHECK(run_one(known, [](int) { return failed(Outcome::kWrongResult); })[0].verdict == Verdict::kWrong);
}

TEST_CASE("a failure is tried once more, and counts unless it is known") {
  CHECK(run_one(kHundred, [](int process) { return process == 0 ? failed(Outcome::kTimeout) : timed(100.0); })[0].verdict == Verdict::kOk);
  CHECK(run_one(kHundred, [](int) { return failed(Outcome::kTimeout); })[0].verdict == Verdict::kFails);
  CHECK(run_one(std::nullopt, [](int) { return failed(Outcome::kTimeout); })[0].verdict == Verdict::kFails);
  const Expectation known{Outcome::kTimeout, {}};
  CHECK(run_one(known, [](int) { return failed(Outcome::kTimeout); })[0].verdict == Verdict::kStillFails);
  CHECK(run_one(known, [](int) { return failed(Outcome::kCompileError); })[0].verdict == Verdict::kFails);
  CHECK(run_one(known, [](int) { return timed(100.0); })[0].verdict == Verdict::kWorksAgain);
}

TEST_CASE("what is faster and what is not recorded is said, without an alarm") {
  const auto faster = run_one(kHundred, [](int) { return timed(50.0); });
  CHECK(faster[0].verdict == Verdict::kFaster);
  CHECK_FALSE(is_alarm(faster[0].verdict));
  const auto first = run_one(std::nullopt, [](int) { return timed(50.0); });
  CHECK(first[0].verdict == Verdict::kNotRecorded);
  CHECK(first[0].level->us == 50.0);
}

TEST_CASE("nothing can be compared where the control fails") {
  const auto measure = [](const Measurable& what) -> Result<Trial> { return what.is_control ? failed(Outcome::kTimeout) : timed(1.0); };
  const auto findings = run_gate({.controls = {"clock"}, .cases = {{"one", 0, std::nullopt}}, .measure = measure});
  REQUIRE_FALSE(findings.ok());
  CHECK(findings.error().message.find("the control clock ended as timeout") != std::string::npos);
}

}  // namespace hone::gate::test
