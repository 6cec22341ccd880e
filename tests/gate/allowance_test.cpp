#include "engine/gate/allowance.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace hone::gate::test {
namespace {

std::vector<Level> runs(const std::vector<double>& relative) {
  std::vector<Level> all;
  for (const double one : relative) {
    all.push_back({100.0 * one, one});
  }
  return all;
}

}  // namespace

TEST_CASE("the spread of runs is the standard deviation of their logarithms") {
  const Spread spread = spread_of(runs({std::exp(-0.01), 1.0, std::exp(0.01)}));
  CHECK(spread.deviation == doctest::Approx(0.01));
  CHECK(spread.freedom == 2.0);
  CHECK(spread_of(runs({1.0})).freedom == 0.0);
}

TEST_CASE("one case that varies widely leaves the typical spread as it is") {
  std::vector<Spread> spreads(9, Spread{0.004, 4.0});
  const Spread before = typical_spread(spreads);
  spreads.push_back({0.3, 4.0});
  CHECK(typical_spread(spreads).deviation == doctest::Approx(before.deviation).epsilon(0.02));
}

TEST_CASE("what was recorded once is allowed more than what was recorded often") {
  const Spread unknown = typical_spread({});
  CHECK(unknown.deviation == doctest::Approx(0.01));
  const Allowance once = allowance(runs({2.0}), unknown, 0.02);
  CHECK(once.relative == doctest::Approx(2.0));
  CHECK(once.slower > 0.05);
  const Spread known = typical_spread(std::vector<Spread>(12, Spread{0.004, 4.0}));
  const Allowance often = allowance(runs({1.99, 2.0, 2.01, 2.0, 2.0}), known, 0.02);
  CHECK(often.slower < 0.03);
  CHECK(often.slower >= 0.02);
}

TEST_CASE("runs that are all alike are still allowed the least") {
  const Spread alike = typical_spread(std::vector<Spread>(100, Spread{0.0, 9.0}));
  CHECK(allowance(runs(std::vector<double>(10, 1.0)), alike, 0.02).slower == doctest::Approx(0.02));
}

TEST_CASE("the quantile is Student's") {
  // 10 borrowed degrees of freedom, deviation 1 % in the borrowed spread, one run: t(10; 1e-4) = 5.6938.
  const Allowance one = allowance(runs({1.0}), Spread{0.01, 100.0}, 0.0);
  CHECK(std::log1p(one.slower) == doctest::Approx(5.6938 * 0.01 * std::sqrt(2.0)).epsilon(1e-4));
}

}  // namespace hone::gate::test
