// The progress of a session as text, at several widths, with and without colours.
#include "cli/progress_text.hpp"

#include <doctest/doctest.h>

namespace hone::cli {
namespace {

/// Half of a minute is over, and something failed.
ProgressState halfway() {
  Progress reached{.trials = 84, .last_outcome = Outcome::kOk, .elapsed_seconds = 29.8, .default_us = 31830.0, .best_us = 1211.0};
  reached.stage = SessionStage::kLikely;
  reached.outcomes = {{Outcome::kOk, 71}, {Outcome::kTooSlow, 11}, {Outcome::kWrongResult, 2}};
  reached.improved_seconds = 25.4;
  reached.readings = {.sm_clock_mhz = 1980.0,
                      .memory_clock_mhz = 0.0,
                      .temperature_c = 45.0,
                      .power_w = 310.0,
                      .throttle_reasons = 0,
                      .discarded_samples = 0};
  return {.budget = {.seconds = 60.0, .trials = std::nullopt}, .reached = reached, .seconds = 30.0};
}

Look plain(std::size_t width) { return {.width = width, .colour = false, .unicode = false, .redraws = true}; }

std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) {
    all += line + "\n";
  }
  return all;
}

/// Without the codes of colours.
std::string stripped(std::string text) {
  for (std::size_t at = text.find('\033'); at != std::string::npos; at = text.find('\033')) {
    text.erase(at, text.find('m', at) - at + 1);
  }
  return text;
}

}  // namespace

TEST_CASE("at 80 columns there is room for almost everything") {
  CHECK(joined(progress_lines(halfway(), plain(80))) ==
        "[####################....................]   50 %  30.0 s left  84 trials  2.8/s\n"
        "best 1.211 ms  26.28x faster  (default 31.830 ms)  improved 4.6 s ago\n"
        "searching the likely configurations  2 wrong_result  11 too slow\n");
}

TEST_CASE("at 60 columns the least important is left out, and the bar is shorter") {
  CHECK(joined(progress_lines(halfway(), plain(60))) ==
        "[##########..........]   50 %  30.0 s left  84 trials  2.8/s\n"
        "best 1.211 ms  26.28x faster  improved 4.6 s ago\n"
        "searching the likely configurations  2 wrong_result\n");
}

TEST_CASE("at 200 columns everything is there") {
  CHECK(joined(progress_lines(halfway(), plain(200))) ==
        "[####################....................]   50 %  30.0 s left  84 trials  2.8/s\n"
        "best 1.211 ms  26.28x faster  (default 31.830 ms)  improved 4.6 s ago\n"
        "searching the likely configurations  2 wrong_result  11 too slow  1980 MHz 45 C 310 W\n");
}

TEST_CASE("no line is wider than the terminal, whatever that is, with Unicode or without") {
  ProgressState state = halfway();
  state.reached->kernel =
      "gr\xC3\xB6\xC3\x9F"
      "e\x1B[31m";
  state.budget.trials = 1'000'000;
  for (std::size_t width = 1; width <= 220; ++width) {
    for (const bool unicode : {false, true}) {
      for (const std::string& line : progress_lines(state, {.width = width, .colour = true, .unicode = unicode, .redraws = true})) {
        CHECK(columns_of(stripped(line)) <= width);
      }
    }
  }
}

TEST_CASE("colours add codes and change nothing else") {
  for (const std::size_t width : {60, 80, 200}) {
    Look coloured = plain(width);
    coloured.colour = true;
    const std::string with = joined(progress_lines(halfway(), coloured));
    CHECK(with.find("\033[1;32m") != std::string::npos);
    CHECK(with.find("\033[1;31m2 wrong_result\033[0m") != std::string::npos);
    CHECK(stripped(with) == joined(progress_lines(halfway(), plain(width))));
  }
}

TEST_CASE("with Unicode the bar is made of blocks") {
  Look look = plain(60);
  look.unicode = true;
  CHECK(progress_lines(halfway(), look).front() == "███████████░░░░░░░░░░░   50 %  30.0 s left  84 trials  2.8/s");
}

TEST_CASE("before the first trial it says what it waits for") {
  const ProgressState state{.budget = {.seconds = std::nullopt, .trials = 200}, .reached = {}, .seconds = 3.0};
  CHECK(joined(progress_lines(state, plain(80))) ==
        "[........................................]    0 %  200 trials left  0 trials\n"
        "nothing measured yet\n"
        "starting: the default compiles and is measured\n");
}

TEST_CASE("a throttled device is told of before its clock") {
  ProgressState state = halfway();
  state.reached->readings.throttle_reasons = 0x4;
  state.reached->stage = SessionStage::kFinals;
  CHECK(progress_lines(state, plain(100))[2] ==
        "final round: the best beside the default  2 wrong_result  11 too slow  throttled: power cap");
}

TEST_CASE("where lines stay there is one, with everything") {
  CHECK(progress_line(halfway(), plain(60)) ==
        "84 trials in 30.0 s  30.0 s left  best 1.211 ms  26.28x faster than the default  improved 4.6 s ago  searching the likely "
        "configurations  2 wrong_result  11 too slow  1980 MHz 45 C 310 W");
}

TEST_CASE("a session that minimizes energy shows energies") {
  ProgressState state = halfway();
  state.reached->objective = {Objective::Kind::kEnergy};
  state.reached->best_us = 2500.0;  // uJ
  state.reached->default_us = 5000.0;
  CHECK(joined(progress_lines(state, plain(200))).find("best 2.5 mJ  2.00x less  (default 5 mJ)") != std::string::npos);
}

TEST_CASE("a trial is a line, and the best so far stands out") {
  Progress reached{.trials = 7, .last_outcome = Outcome::kOk, .elapsed_seconds = 3.25, .default_us = 20.0, .best_us = 10.0};
  reached.configuration = "block=64";
  reached.time_us = 10.0;
  CHECK(trial_line(reached, plain(80)) == "    7      3.2 s  ok                 10.00 us  block=64");
  Look coloured = plain(80);
  coloured.colour = true;
  CHECK(trial_line(reached, coloured).find("\033[1;32m") != std::string::npos);
  reached.last_outcome = Outcome::kRace;
  reached.time_us.reset();
  CHECK(trial_line(reached, plain(80)) == "    7      3.2 s  race                      -  block=64");
}

}  // namespace hone::cli
