#include "engine/tune/trial_times.hpp"

#include <doctest/doctest.h>

namespace hone {
namespace {

Trial ended_at(double seconds, double took, Outcome outcome = Outcome::kOk) {
  Trial trial;
  trial.outcome = outcome;
  trial.elapsed_seconds = seconds;
  trial.seconds.validate = 0.5 * took;
  trial.seconds.time = 0.5 * took;
  return trial;
}

}  // namespace

TEST_CASE("a session's trials begin with the earliest of any kernel, and take what lies between") {
  TrialTimes times;
  CHECK_FALSE(times.start().has_value());
  times.add({ended_at(1.0, 0.2), ended_at(1.5, 0.1)});
  times.add({ended_at(0.9, 0.3), ended_at(2.0, 0.1)});
  CHECK(*times.start() == doctest::Approx(0.6));
  CHECK(times.trials() == 4);
  CHECK(times.seconds(10.0) == doctest::Approx(1.1 * 4 / 3));  // three of four lie between the ends of the first and the last
  CHECK(times.is_any_right());
}

TEST_CASE("where trials have no times a session's seconds count") {
  TrialTimes times;
  Trial old = ended_at(0.0, 0.0, Outcome::kWrongResult);
  old.elapsed_seconds.reset();
  times.add({old, old});
  CHECK_FALSE(times.start().has_value());
  CHECK_FALSE(times.is_any_right());
  CHECK(times.seconds(10.0) == 10.0);
}

}  // namespace hone
