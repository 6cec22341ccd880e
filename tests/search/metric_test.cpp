#include "search/metric.hpp"

#include <cmath>

#include "tests/search/grid.hpp"

using namespace hone;
using namespace hone::search;
using test::counting;
using test::Grid;

TEST_CASE("Powers of two are evenly spaced; values that may be zero go by their rank") {
  const Grid grid({{1, 2, 4, 16}, {0, 1, 100}});
  const Metric metric(grid.space(), false);
  REQUIRE(metric.coordinates() == 2);
  const std::uint16_t digits[] = {2, 1};
  CHECK(metric.at(0, digits) == doctest::Approx(0.5));
  CHECK(metric.at(1, digits) == doctest::Approx(0.5));
}

TEST_CASE("Trailing zero bits are a coordinate where they say more than the order") {
  const Grid grid({{32, 48, 64, 96}, {1, 2, 4, 8}});
  const Metric metric(grid.space(), true);
  REQUIRE(metric.coordinates() == 3);
  const std::uint16_t a[] = {0, 0}, b[] = {3, 0}, c[] = {1, 0};
  CHECK(metric.difference(1, a, b) == 0.0F);
  CHECK(metric.difference(1, a, c) > 0.0F);
  CHECK(Metric(grid.space(), false).coordinates() == 2);
}

TEST_CASE("Labels differ or do not; a label's prior weight is a whole range's") {
  const Grid grid({{0, 1, 2}}, HONE_CATEGORICAL);
  const Metric metric(grid.space(), true);
  CHECK(metric.coordinates() == 0);
  REQUIRE(metric.terms() == 1);
  const std::uint16_t a = 0, b = 1, c = 2;
  CHECK(metric.difference(0, &a, &b) == 1.0F);
  CHECK(metric.difference(0, &a, &c) == 1.0F);
  CHECK(metric.difference(0, &c, &c) == 0.0F);
}

TEST_CASE("A space without parameters has a metric, and its prior is finite") {
  const Grid grid({});
  const Metric metric(grid.space(), true);
  CHECK(metric.terms() == 0);
  CHECK(metric.spread(nullptr, nullptr) == 0.0F);
  const Grid one({counting(1)});
  CHECK(std::isfinite(Metric(one.space(), true).centre().front()));
}
