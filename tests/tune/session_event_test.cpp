// What a session tells whoever watches it.
#include "engine/tune/session_event.hpp"

#include <algorithm>
#include <vector>

#include "tests/tune/replay_fixture.hpp"

namespace hone {
namespace {

using Step = SessionEvent::Step;

/// What is left of an event after the call.
struct Happened {
  Step step;
  std::int64_t session, resumed;
  std::optional<double> best_us;
  std::optional<Configuration> configuration;
};

/// Notes what a session tells in `into`.
void watch(TuneRequest& request, std::vector<Happened>& into) {
  request.on_event = [&](const SessionEvent& event) {
    into.push_back({event.step, event.session, event.resumed_trials, event.best_us,
                    event.trial != nullptr ? std::optional(event.trial->configuration) : std::nullopt});
  };
}

std::ptrdiff_t count(const std::vector<Happened>& all, Step step) { return std::ranges::count(all, step, &Happened::step); }

}  // namespace

TEST_CASE("a session tells that it began, each trial, its final round with each finalist, and its end with the winner") {
  replay_test::Fixture fixture;
  TuneRequest request = fixture.request("exhaustive", "20trials");
  std::vector<Happened> told;
  watch(request, told);
  const TuneReport report = tune(request, fixture.store(), builtin_registry()).value();
  REQUIRE(told.size() > 23);
  CHECK(told.front().step == Step::kBegan);
  CHECK(
      std::all_of(told.begin() + 1, told.begin() + 21, [](const Happened& one) { return one.step == Step::kTrial && one.configuration; }));
  CHECK(told[21].step == Step::kFinalRound);
  CHECK(count(told, Step::kFinalist) >= 2);
  CHECK(told.back().step == Step::kEnded);
  CHECK(told.back().configuration == report.best->configuration);
  CHECK(told.back().best_us == report.best->measurement.median_us);
  CHECK(std::ranges::all_of(told, [&](const Happened& one) { return one.session == report.session; }));
}

TEST_CASE("a part of a session ends as paused, and the next part says how many trials it was given") {
  replay_test::Fixture fixture;
  TuneRequest request = fixture.request("exhaustive", "5trials");
  request.finish = false;
  std::vector<Happened> told;
  watch(request, told);
  REQUIRE(tune(request, fixture.store(), builtin_registry()).ok());
  CHECK(told.back().step == Step::kPaused);
  CHECK(count(told, Step::kFinalRound) == 0);
  told.clear();
  request.budget = *parse_budget("8trials");
  request.finish = true;
  REQUIRE(tune(request, fixture.store(), builtin_registry()).ok());
  CHECK(told.front().step == Step::kBegan);
  CHECK(told.front().resumed == 5);
  CHECK(count(told, Step::kTrial) == 3);
  CHECK(told.back().step == Step::kEnded);
}

}  // namespace hone
