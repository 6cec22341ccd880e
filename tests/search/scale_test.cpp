#include "search/scale.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace hone::search;

TEST_CASE("Times count by their logarithm above the best, and a failure as a quantile of the times") {
  const double failed = std::numeric_limits<double>::infinity();
  const auto above = above_best(std::vector{20.0, 10.0, failed, 40.0, 80.0}, {.compression = 0.0, .failure_quantile = 0.5});
  CHECK(above[0] == doctest::Approx(std::log(2.0)));
  CHECK(above[1] == 0.0);
  CHECK(above[2] == doctest::Approx(std::log(4.0)));
  CHECK(above[4] == doctest::Approx(std::log(8.0)));
}

TEST_CASE("Beyond the knee times are compressed, in order and without a jump") {
  const std::vector<double> times{1.0, 2.0, 4.0, 4.001, 16.0, 256.0};
  const auto above = above_best(times, {.compression = 1.0, .failure_quantile = 0.5});
  CHECK(above[1] == doctest::Approx(std::log(2.0)));
  CHECK(above[3] == doctest::Approx(std::log(4.001)));  // the median: the knee
  CHECK(above[4] < std::log(16.0) - 0.4);
  CHECK(above[4] < above[5]);
  CHECK(above[5] < std::log(256.0) - 2.0);
}

TEST_CASE("A quantile is one of the values") {
  const std::vector<double> sorted{1.0, 2.0, 3.0, 4.0};
  CHECK(quantile(sorted, 0.0) == 1.0);
  CHECK(quantile(sorted, 0.5) == 3.0);
  CHECK(quantile(sorted, 1.0) == 4.0);
}
