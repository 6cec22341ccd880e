#include "engine/tune/turns.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace hone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Remaining kPlenty{.seconds = 100.0, .trials = kInfinity}, kLittle{.seconds = 0.5, .trials = kInfinity};

Runner runner(std::vector<double> times_us) { return {.times_us = std::move(times_us), .seconds = 0.1}; }

/// So many trials of the same time.
Runner flat(std::size_t trials, double time_us) { return runner(std::vector<double>(trials, time_us)); }

}  // namespace

TEST_CASE("hope grows with what is left, and with what was gained lately") {
  CHECK(hopeful_us(flat(8, 10.0), 0.0) == 10.0);
  CHECK(hopeful_us(flat(8, 10.0), 100.0) < hopeful_us(flat(8, 10.0), 10.0));
  CHECK(hopeful_us(flat(64, 10.0), 64.0) > hopeful_us(flat(8, 10.0), 64.0));
  CHECK(hopeful_us(runner({40.0, 30.0, 20.0, 10.0}), 10.0) < hopeful_us(runner({40.0, 10.0, 20.0, 30.0}), 10.0));
  CHECK(hopeful_us(runner({kInfinity, kInfinity}), 10.0) == kInfinity);
}

TEST_CASE("the turn goes to whoever may still end up fastest") {
  const std::vector<Runner> even{flat(8, 10.0), flat(8, 10.0)};
  CHECK(Turns::next(even, kPlenty) == 0);  // ties go by their order
  const std::vector<Runner> ahead{flat(8, 10.0), flat(8, 9.0)};
  CHECK(Turns::next(ahead, kPlenty) == 1);
  const std::vector<Runner> unexplored{flat(200, 9.5), flat(8, 10.0)};
  CHECK(Turns::next(unexplored, kPlenty) == 1);
  const std::vector<Runner> rising{flat(8, 10.0), runner({40.0, 38.0, 36.0, 34.0, 25.0, 20.0, 15.0, 12.0})};
  CHECK(Turns::next(rising, kPlenty) == 1);
}

TEST_CASE("who cannot go on gets no turn") {
  std::vector<Runner> runners{flat(8, 5.0), flat(8, 10.0)};
  runners[0].can_go_on = false;
  CHECK(Turns::next(runners, kPlenty) == 1);
  runners[1].can_go_on = false;
  CHECK_FALSE(Turns::next(runners, kPlenty).has_value());
}

TEST_CASE("who is far behind stops, the sooner the less is left") {
  const std::vector<Runner> runners{flat(16, 10.0), flat(16, 100.0), flat(16, 11.0)};
  CHECK(Turns::is_far_behind(1, runners, kPlenty));
  CHECK_FALSE(Turns::is_far_behind(0, runners, kPlenty));
  CHECK_FALSE(Turns::is_far_behind(2, runners, kPlenty));
  CHECK(Turns::is_far_behind(2, runners, {.seconds = kInfinity, .trials = 0.0}));
}

TEST_CASE("who is in reach of the fastest stays for the final round, whatever is left") {
  const std::vector<Runner> close{flat(16, 10.0), flat(16, 10.5)};
  CHECK_FALSE(Turns::is_far_behind(1, close, kLittle));
  CHECK_FALSE(Turns::is_far_behind(1, close, {.seconds = 0.0, .trials = kInfinity}));
}

TEST_CASE("the first share is a part of the budget, within bounds") {
  CHECK(Turns::first_share(3, kPlenty, 0.01) == 8);
  CHECK(Turns::first_share(3, {.seconds = kInfinity, .trials = 20.0}, 1.0) == 2);
  CHECK(Turns::first_share(2, {.seconds = kInfinity, .trials = 30.0}, 1.0) == 5);
  CHECK(Turns::first_share(4, kLittle, 10.0) == 2);
}

}  // namespace hone
