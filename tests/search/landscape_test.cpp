#include "search/landscape.hpp"

#include <cmath>

#include "tests/search/grid.hpp"

namespace {

using namespace hone;
using namespace hone::search;
using test::counting;
using test::Grid;
using test::seen;

/// Log time: a sum of effects.
double additive(const Grid& grid, plugin::Position position) {
  const plugin::Digits digits = grid.space().at(position);
  return 1.0 + 0.3 * digits[0] + 0.1 * std::abs(digits[1] - 2.0);
}

Estimate estimate(const Landscape& landscape, plugin::Position position) {
  Point point;
  landscape.locate(position, point);
  return landscape.estimate(point);
}

}  // namespace

TEST_CASE("A sum of effects is predicted where it was not seen, and what was seen is told again") {
  const Grid grid({counting(6), counting(5)});
  Landscape landscape(grid.space(), 0.0);
  for (plugin::Position position = 0; position < 30; ++position) {
    if (position % 4 != 1) {
      landscape.learn(seen(position, std::exp(additive(grid, position))));
    }
  }
  landscape.fit();
  CHECK(landscape.best() == 12);
  for (plugin::Position position = 0; position < 30; ++position) {
    CHECK(estimate(landscape, position).log_time == doctest::Approx(additive(grid, position)).epsilon(position % 4 != 1 ? 1e-3 : 0.1));
  }
}

TEST_CASE("A point that is kept says what a new one says, also after more was learnt") {
  const Grid grid({counting(6), counting(5)});
  Landscape landscape(grid.space(), 0.5);
  Point kept;
  landscape.locate(17, kept);
  for (const plugin::Position position : {3, 28, 16, 9, 21, 0, 11, 5, 25, 13}) {
    landscape.learn(seen(position, std::exp(additive(grid, position)), position % 5 == 1 ? HONE_RACE : HONE_OK));
    landscape.fit();
    const Estimate of_kept = landscape.estimate(kept), of_new = estimate(landscape, 17);
    CHECK(of_kept.log_time == doctest::Approx(of_new.log_time));
    CHECK(of_kept.distance == doctest::Approx(of_new.distance));
  }
}

TEST_CASE("A point that is kept says what a new one says when more is known than is weighed at a time") {
  const Grid grid({counting(13), counting(11)});
  Landscape landscape(grid.space(), 0.5);
  Point kept;
  landscape.locate(77, kept);
  for (plugin::Position position = 0; position < 140; ++position) {
    if (position == 77) {
      continue;
    }
    landscape.learn(seen(position, std::exp(additive(grid, position) + 0.1 * static_cast<double>(position % 3))));
    if (position % 9 == 0) {
      landscape.fit();
      const Estimate of_kept = landscape.estimate(kept), of_new = estimate(landscape, 77);
      CHECK(of_kept.log_time == doctest::Approx(of_new.log_time));
      CHECK(of_kept.distance == of_new.distance);
      CHECK(landscape.distance(kept) == of_new.distance);
    }
  }
}

TEST_CASE("Distance is to the nearest point known or awaited, until the awaited one is known") {
  const Grid grid({counting(5), counting(5)});
  Landscape landscape(grid.space(), 0.5);
  landscape.learn(seen(0, 1.0));
  landscape.fit();
  CHECK(estimate(landscape, 1).distance == doctest::Approx(std::hypot(0.25, 0.35)).epsilon(1e-4));
  const double far = estimate(landscape, 24).distance;
  landscape.await(23);
  CHECK(landscape.points() == 2);
  CHECK(estimate(landscape, 24).distance == doctest::Approx(std::hypot(0.25, 0.35)).epsilon(1e-4));
  CHECK(far > 1.0);
  landscape.learn(seen(23, 1.0));
  CHECK(landscape.points() == 2);
}

TEST_CASE("What was too slow counts with its time, and is never the best") {
  const Grid grid({counting(6), counting(5)});
  Landscape landscape(grid.space(), 0.0);
  landscape.learn(seen(0, 5.0, HONE_TOO_SLOW));
  CHECK_FALSE(landscape.has_best());
  landscape.learn(seen(1, 20.0));
  landscape.learn(seen(2, 10.0, HONE_TOO_SLOW));
  CHECK(landscape.best() == 1);
  landscape.fit();
  CHECK(estimate(landscape, 0).log_time == doctest::Approx(std::log(5.0)).epsilon(1e-2));
}

TEST_CASE("A failure counts as slower than the median") {
  const Grid grid({counting(8)});
  Landscape landscape(grid.space(), 0.0);
  CHECK_FALSE(landscape.has_best());
  landscape.learn(seen(7, 1.0, HONE_LAUNCH_FAILURE));
  landscape.fit();
  CHECK_FALSE(landscape.has_best());
  for (plugin::Position position = 0; position < 5; ++position) {
    landscape.learn(seen(position, std::exp(static_cast<double>(position))));
  }
  landscape.fit();
  CHECK(landscape.best() == 0);
  CHECK(estimate(landscape, 7).log_time > 2.1);
  CHECK(estimate(landscape, 7).log_time < 4.0);
}
