// Time against energy: of which configurations no other is better in both.
#include "engine/report/front.hpp"

#include <doctest/doctest.h>

using namespace hone;

namespace {

Trial trial(double us, double joules) {
  Trial one;
  one.measurement.median_us = us;
  one.measurement.energy_j = Figure{joules, joules, joules};
  return one;
}

}  // namespace

TEST_CASE("The front holds what nothing beats in both, the fastest first") {
  const std::vector<Trial> trials{trial(10.0, 5.0), trial(12.0, 4.0), trial(11.0, 6.0),
                                  trial(20.0, 3.0), trial(12.0, 4.0), trial(30.0, 3.0)};
  CHECK(report::time_energy_front(trials) == std::vector<std::size_t>{0, 1, 3});
}

TEST_CASE("What was not measured to the end, or is wrong, is not on the front") {
  std::vector<Trial> trials{trial(10.0, 5.0), trial(1.0, 1.0), trial(2.0, 1.0), trial(3.0, 1.0)};
  trials[1].outcome = Outcome::kWrongResult;
  trials[2].measurement.raced_out = true;
  trials[3].measurement.energy_j.reset();
  CHECK(report::time_energy_front(trials) == std::vector<std::size_t>{0});
  CHECK(report::time_energy_front({}).empty());
}
