#include "search/agreement.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "hone/plugin.hpp"

using hone::search::agreement;

TEST_CASE("Agreement is the correlation in standard deviations of that of unrelated series") {
  const std::vector<double> rising{1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0}, about{2.0, 1.0, 4.0, 3.0, 6.0, 5.0, 7.0};
  CHECK(agreement(rising, about) == doctest::Approx(2.0 * std::atanh(25.0 / 28.0)));
  CHECK(agreement(rising, {std::vector<double>(about.rbegin(), about.rend())}) < -2.0);
  CHECK(agreement(rising, rising) > 5.0);
  CHECK(std::isfinite(agreement(rising, rising)));
}

TEST_CASE("Fewer than four numbers contradict nothing, and a constant agrees with nothing") {
  const std::vector<double> three{1.0, 2.0, 3.0}, four{1.0, 2.0, 3.0, 4.0};
  CHECK(std::isinf(agreement(three, three)));
  CHECK(agreement(four, std::vector<double>(4, 1.0)) == 0.0);
}

TEST_CASE("One in ten unrelated series agrees by more than 1.28") {
  hone::plugin::Random random(7);
  constexpr int kSeries = 4000;
  for (const std::size_t length : {5, 8, 20}) {
    int agreeing = 0;
    for (int series = 0; series < kSeries; ++series) {
      std::vector<double> a(length), b(length);
      for (std::size_t i = 0; i < length; ++i) {
        a[i] = random.unit() + random.unit() + random.unit();  // near enough to a normal distribution
        b[i] = random.unit() + random.unit() + random.unit();
      }
      agreeing += agreement(a, b) > 1.28 ? 1 : 0;
    }
    CHECK(static_cast<double>(agreeing) / kSeries == doctest::Approx(0.1).epsilon(0.25));
  }
}
