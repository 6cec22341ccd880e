// What sessions minimize: names, and what they read from a measurement.
#include "engine/device/objective.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace hone;

namespace {

Measurement measured(std::vector<double> samples) {
  Measurement measurement;
  measurement.samples_us = std::move(samples);
  measurement.median_us = 10.0;
  measurement.ci95_low_us = 9.0;
  measurement.ci95_high_us = 12.0;
  return measurement;
}

}  // namespace

TEST_CASE("Objectives are spelled in one way, and what is none is refused with what there is") {
  for (const char* const text : {"time", "energy", "edp", "p99", "p99.9", "p75"}) {
    const Result<Objective> parsed = parse_objective(text);
    REQUIRE(parsed.ok());
    CHECK(name(*parsed) == text);
  }
  CHECK(name(*parse_objective("p99.0")) == "p99");
  CHECK(*parse_objective("time") == Objective());
  for (const char* const text : {"", "Time", "p", "p50", "p100", "p-99", "p99x", "99", "p1e1", "power"}) {
    const Result<Objective> parsed = parse_objective(text);
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error().code == ErrorCode::kInvalidArgument);
    CHECK(parsed.error().message.find("edp") != std::string::npos);
  }
}

TEST_CASE("An objective reads its own part of a measurement, or says that it is not there") {
  Measurement measurement = measured(std::vector<double>(5, 10.0));
  CHECK(Objective().of(measurement)->value == 10.0);
  CHECK(Objective().of(measurement)->high == 12.0);
  const Objective energy{Objective::Kind::kEnergy}, edp{Objective::Kind::kEdp}, p99{Objective::Kind::kPercentile, 99.0};
  CHECK_FALSE(energy.of(measurement));
  CHECK_FALSE(edp.of(measurement));
  CHECK_FALSE(p99.of(measurement));  // of five samples nobody knows
  CHECK_FALSE(Objective().of(Measurement()));
  measurement.energy_j = Figure{2e-3, 1e-3, 3e-3};
  CHECK(energy.of(measurement)->value == doctest::Approx(2e3));
  CHECK(edp.of(measurement)->value == doctest::Approx(2e4));
  CHECK(edp.of(measurement)->low == doctest::Approx(9e3));
  CHECK(edp.of(measurement)->high == doctest::Approx(3.6e4));
}

TEST_CASE("Each percentile says how many samples its interval takes, and has one from there on") {
  for (const double percentile : {75.0, 90.0, 99.0, 99.9}) {
    const Objective objective{Objective::Kind::kPercentile, percentile};
    const auto least = static_cast<std::size_t>(objective.least_samples());
    CHECK(percentile_of(std::vector<double>(least, 1.0), percentile).has_value());
    CHECK_FALSE(percentile_of(std::vector<double>(least - 1, 1.0), percentile).has_value());
  }
  CHECK(Objective{Objective::Kind::kPercentile, 99.0}.least_samples() == 368);
}

TEST_CASE("The interval of a percentile holds the true one 19 times of 20") {
  std::mt19937_64 random(3);
  std::exponential_distribution<double> draw(1.0);
  for (const double percentile : {75.0, 95.0}) {
    const double truth = -std::log(1.0 - percentile / 100.0);
    int held = 0;
    constexpr int kTimes = 2000;
    for (int i = 0; i < kTimes; ++i) {
      std::vector<double> samples(200);
      std::ranges::generate(samples, [&] { return draw(random); });
      const std::optional<Figure> seen = percentile_of(samples, percentile);
      REQUIRE(seen);
      CHECK(seen->low <= seen->value);
      CHECK(seen->value <= seen->high);
      held += seen->low <= truth && truth <= seen->high ? 1 : 0;
    }
    CHECK(held >= static_cast<int>(0.94 * kTimes));
    CHECK(held <= static_cast<int>(0.99 * kTimes));  // no wider than it must be
  }
}

TEST_CASE("Values are written in units that people read") {
  CHECK(objective_text({Objective::Kind::kEnergy}, 4560.0) == "4.56 mJ");
  CHECK(objective_text({Objective::Kind::kEnergy}, 12.0) == "12 uJ");
  CHECK(objective_text({Objective::Kind::kEdp}, 2.5e9) == "2.5 mJ s");
  CHECK(objective_text({Objective::Kind::kPercentile, 99.0}, 12.5) == "12.5 us");
}

TEST_CASE("How much slower a winner by energy may be follows from the powers that were seen") {
  const Objective energy{Objective::Kind::kEnergy}, edp{Objective::Kind::kEdp};
  CHECK(Objective{}.time_allowance({8, 500.0, 400.0}) == 1.0);
  CHECK(energy.time_allowance({7, 500.0, 400.0}) == 3.0);
  CHECK(energy.time_allowance({8, 500.0, 400.0}) == doctest::Approx(500.0 / 320.0));
  CHECK(edp.time_allowance({8, 500.0, 400.0}) == doctest::Approx(std::sqrt(500.0 / 320.0)));
  CHECK(energy.time_allowance({8, 500.0, 100.0}) == 3.0);
  CHECK(energy.time_allowance({8, 300.0, 400.0}) == 1.0);
}
