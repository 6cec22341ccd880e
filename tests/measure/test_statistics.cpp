#include <doctest/doctest.h>

#include <numeric>
#include <random>

#include "engine/measure/measure.hpp"

using hone::Measurement;
using hone::summarize;

namespace {

std::vector<double> one_to(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

}  // namespace

TEST_CASE("the median of an odd number of samples is the middle one, of an even number the mean of the middle two") {
  CHECK(summarize({9.0, 1.0, 5.0}).median_us == 5.0);
  CHECK(summarize({9.0, 1.0, 5.0, 7.0}).median_us == 6.0);
}

TEST_CASE("samples keep the order in which they were taken") {
  CHECK(summarize({9.0, 1.0, 5.0}).samples_us == std::vector<double>{9.0, 1.0, 5.0});
}

TEST_CASE("no samples give an empty measurement") {
  const Measurement none = summarize({});
  CHECK(none.samples_us.empty());
  CHECK(none.median_us == 0.0);
}

TEST_CASE("fewer than six samples give the whole range") {
  for (int n = 1; n < 6; ++n) {
    const Measurement few = summarize(one_to(n));
    CHECK(few.ci95_low_us == 1.0);
    CHECK(few.ci95_high_us == n);
  }
}

TEST_CASE("the interval's ranks are those of the sign test's table") {
  // n, rank of the lower end: the largest k with P(Binomial(n, 1/2) < k) <= 0.025.
  for (const auto& [n, rank] :
       {std::pair{6, 1}, {8, 1}, {9, 2}, {11, 2}, {12, 3}, {15, 4}, {20, 6}, {25, 8}, {50, 18}, {100, 40}, {201, 87}}) {
    const Measurement measured = summarize(one_to(n));
    CAPTURE(n);
    CHECK(measured.ci95_low_us == rank);
    CHECK(measured.ci95_high_us == n + 1 - rank);
  }
}

TEST_CASE("exact ranks and the approximation for many samples meet") {
  const double exact = summarize(one_to(1000)).ci95_low_us, approximate = summarize(one_to(1001)).ci95_low_us;
  CHECK(std::abs(approximate - exact) <= 1.0);
}

TEST_CASE("the interval covers the true median in at least 95 % of experiments, also for skewed samples") {
  for (const int n : {6, 11, 23, 60}) {
    std::mt19937_64 random(static_cast<std::uint64_t>(n));
    std::exponential_distribution<double> tail(1.0);
    const double true_median = std::log(2.0);
    constexpr int kExperiments = 4000;
    int covered = 0;
    for (int experiment = 0; experiment < kExperiments; ++experiment) {
      std::vector<double> samples(static_cast<std::size_t>(n));
      for (double& sample : samples) {
        sample = tail(random);
      }
      const Measurement measured = summarize(std::move(samples));
      covered += measured.ci95_low_us <= true_median && true_median <= measured.ci95_high_us ? 1 : 0;
    }
    CAPTURE(n);
    // Order statistics cannot hit 95 % exactly: the coverage is at least that, short of three standard errors of the simulation.
    CHECK(covered >= static_cast<int>(kExperiments * (0.95 - 0.0104)));
    CHECK(covered <= static_cast<int>(kExperiments * 0.995));
  }
}
