#include "search/chance.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

using namespace hone;
using namespace hone::search;

namespace {

constexpr double kFailed = std::numeric_limits<double>::infinity();

/// After random draws of 8, 10, 12, 10 and 10 us.
Chance begun() {
  Chance chance;
  plugin::Position position = 0;
  for (const double time_us : {8.0, 10.0, 12.0, 10.0, 10.0}) {
    chance.asked(position, true);
    chance.told(position++, time_us, false);
  }
  return chance;
}

}  // namespace

TEST_CASE("The odds of chance are those of a normal distribution of log times, and fall with the failures") {
  const std::vector<double> logs{1.0, 2.0, 3.0};
  CHECK(odds_of_chance(logs, 3, 2.0) == doctest::Approx(0.5));
  CHECK(odds_of_chance(logs, 6, 2.0) == doctest::Approx(0.25));
  CHECK(odds_of_chance(logs, 3, 2.0 - 1.96 * std::sqrt(4.0 / 3.0)) == doctest::Approx(0.025).epsilon(1e-3));
  CHECK(odds_of_chance(logs, 3, -10.0) < 1e-6);
}

TEST_CASE("Too few times, or times that are all equal, give odds nevertheless") {
  CHECK(odds_of_chance({}, 0, 1.0) == 0.5);
  CHECK(odds_of_chance(std::vector{1.0, 1.5}, 9, 1.0) == 0.5);
  CHECK(odds_of_chance(std::vector(4, 1.0), 4, 1.0) == doctest::Approx(0.5));
}

TEST_CASE("The share of chance falls with what the model finds and explains, and rises while it finds nothing") {
  Chance chance = begun();
  const double before = chance.share(8.0, 1.0);
  CHECK(before > 0.0);
  CHECK(chance.share(8.0, 0.2) < before);
  CHECK(chance.share(8.0, 1.0, 0.0) == 0.0);
  CHECK(chance.share(4.0, 1.0) < 0.1 * before);
  for (plugin::Position position = 100; position < 110; ++position) {
    chance.asked(position, false);
    chance.told(position, 9.0, false);
  }
  const double fruitless = chance.share(8.0, 1.0);
  CHECK(fruitless > 2.0 * before);
  for (plugin::Position position = 200; position < 210; ++position) {
    chance.asked(position, false);
    chance.told(position, 7.0, true);
  }
  CHECK(chance.share(8.0, 1.0) < 0.5 * fruitless);
}

TEST_CASE("What nobody asked for says nothing of chance, a failure that was drawn does") {
  Chance chance = begun();
  const double before = chance.share(8.0, 1.0);
  chance.told(77, 1.0, true);
  CHECK(chance.share(8.0, 1.0) == before);
  chance.asked(78, true);
  chance.told(78, kFailed, false);
  CHECK(chance.share(8.0, 1.0) < before);
}
