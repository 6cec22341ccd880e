#include <limits>
#include <vector>

#include "tests/tune/replay_fixture.hpp"

namespace hone {
namespace {

using replay_test::Fixture;
using replay_test::total;

}  // namespace

TEST_CASE("a model that cannot be kept costs the session nothing and is noted") {
  Fixture fixture;
  CHECK(tune(fixture.request("reinforcement", "10trials"), fixture.store(), builtin_registry()).value().model_not_kept.empty());
  fixture.refuse_models();
  TuneRequest second = fixture.request("reinforcement", "10trials");
  second.seed = 1;
  const auto report = tune(second, fixture.store(), builtin_registry());
  REQUIRE(report.ok());
  CHECK(report->best.has_value());
  CHECK(report->model_not_kept.find("no room") != std::string::npos);
}

TEST_CASE("a strategy that cannot be started leaves no session behind") {
  Fixture fixture;
  TuneRequest request = fixture.request("random", "10trials");
  request.strategy_parameters = {{"nonsense", 1.0}};
  CHECK_FALSE(tune(request, fixture.store(), builtin_registry()).ok());
  CHECK(fixture.store().sessions().value().empty());
}

TEST_CASE("a session that is stopped keeps its best so far where it is asked to, and can be resumed") {
  Fixture fixture;
  std::stop_source stop;
  TuneRequest request = fixture.request("exhaustive", "1h");
  request.stop = stop.get_token();
  request.on_progress = [&](const Progress& progress) {
    if (progress.trials >= 5) {
      stop.request_stop();
    }
  };
  SUBCASE("not asked to") {
    CHECK(tune(request, fixture.store(), builtin_registry()).error().code == ErrorCode::kCancelled);
    CHECK_FALSE(fixture.record().has_value());
    return;
  }
  SUBCASE("asked to") {}
  request.keep_best = true;
  const TuneReport stopped = tune(request, fixture.store(), builtin_registry()).value();
  CHECK(stopped.interrupted);
  CHECK(stopped.session == 1);
  REQUIRE(stopped.best.has_value());
  REQUIRE(stopped.default_measured.has_value());
  REQUIRE(fixture.record().has_value());
  CHECK(fixture.record()->configuration == stopped.best->configuration);
  CHECK(fixture.store().sessions().value().front().state == SessionState::kRunning);
}

TEST_CASE("a session tells of each trial what it has reached, and when the final round begins") {
  Fixture fixture;
  TuneRequest request = fixture.request("exhaustive", "20trials");
  std::vector<Progress> told;
  request.on_progress = [&](const Progress& progress) { told.push_back(progress); };
  const TuneReport report = tune(request, fixture.store(), builtin_registry()).value();
  REQUIRE(told.size() == 21);
  CHECK(told.back().stage == SessionStage::kFinals);
  CHECK(told.back().trials == 20);
  CHECK(told.back().outcomes == report.outcomes);
  double best = std::numeric_limits<double>::infinity(), improved = 0.0;
  for (std::size_t i = 0; i < 20; ++i) {
    const Progress& one = told[i];
    CHECK(one.stage == SessionStage::kLegal);
    CHECK(one.trials == static_cast<std::int64_t>(i) + 1);
    CHECK_FALSE(one.configuration.empty());
    CHECK(one.time_us.has_value() == has_time(one.last_outcome));
    if (one.last_outcome == Outcome::kOk && *one.time_us < 0.995 * best) {
      improved = one.elapsed_seconds;
    }
    best = one.last_outcome == Outcome::kOk ? std::min(best, *one.time_us) : best;
    CHECK(one.improved_seconds == improved);
  }
}

TEST_CASE("a trial comes back with the second of its session in which it was recorded") {
  Fixture fixture;
  std::vector<double> seconds;
  TuneRequest request = fixture.request("exhaustive", "5trials");
  request.on_progress = [&](const Progress& progress) { seconds.push_back(progress.elapsed_seconds); };
  const TuneReport report = tune(request, fixture.store(), builtin_registry()).value();
  const std::vector<Trial> trials = fixture.store().trials(report.session, request.spec.parameters).value();
  REQUIRE(trials.size() == 5);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    REQUIRE(trials[i].elapsed_seconds.has_value());
    CHECK(*trials[i].elapsed_seconds == seconds[i]);
  }
}

TEST_CASE("a part of a session keeps its best, and a larger budget goes on with it in the same process") {
  Fixture fixture;
  TuneRequest part = fixture.request("exhaustive", "5trials");
  part.finish = false;
  const TuneReport first = tune(part, fixture.store(), builtin_registry()).value();
  CHECK(first.interrupted);
  CHECK(total(first) == 5);
  REQUIRE(fixture.record().has_value());
  CHECK(fixture.record()->configuration == first.best->configuration);
  part.budget.trials = 12;
  const TuneReport second = tune(part, fixture.store(), builtin_registry()).value();
  CHECK(second.session == first.session);
  CHECK(second.resumed_trials == 5);
  CHECK(total(second) == 12);
  part.finish = true;
  const TuneReport last = tune(part, fixture.store(), builtin_registry()).value();
  CHECK(last.session == first.session);
  CHECK_FALSE(last.interrupted);
  CHECK(total(last) == 12);
  const auto sessions = fixture.store().sessions().value();
  REQUIRE(sessions.size() == 1);
  CHECK(sessions.front().state == SessionState::kDone);
}

TEST_CASE("a session of a workload is one of its own") {
  Fixture fixture;
  TuneRequest request = fixture.request("exhaustive", "5trials");
  request.finish = false;
  const std::int64_t alone = tune(request, fixture.store(), builtin_registry()).value().session;
  request.workload = "0123";
  CHECK(tune(request, fixture.store(), builtin_registry()).value().session != alone);
  request.workload.clear();
  CHECK(tune(request, fixture.store(), builtin_registry()).value().session == alone);
}

TEST_CASE("a session gives its strategy what earlier ones of the kernel learnt, unless told not to") {
  Fixture fixture;
  CHECK(tune(fixture.request("random", "10trials"), fixture.store(), builtin_registry()).value().prior_trials == 0);
  TuneRequest second = fixture.request("random", "10trials");
  second.seed = 1;
  CHECK(tune(second, fixture.store(), builtin_registry()).value().prior_trials == 10);
  TuneRequest alone = fixture.request("random", "10trials");
  alone.seed = 2;
  alone.transfer = false;
  CHECK(tune(alone, fixture.store(), builtin_registry()).value().prior_trials == 0);
}

TEST_CASE("exhaustive search tries every configuration once and finds the best") {
  Fixture fixture;
  const TuneReport report = tune(fixture.request("exhaustive", "1h"), fixture.store(), builtin_registry()).value();
  CHECK(total(report) == 36);
  CHECK(report.outcomes.at(Outcome::kCompileError) == 6);
  REQUIRE(report.best.has_value());
  CHECK(report.best->configuration.values == std::vector<Value>{4, 2});
  CHECK(report.best->measurement.median_us == doctest::Approx(1000.0));
  CHECK(report.speedup >= 1.0);
}

TEST_CASE("what was too slow is counted as that and never wins, ties or counts as a failure, whatever its time") {
  Fixture fixture(1.0);  // a thousand times faster than the best
  const TuneReport report = tune(fixture.request("exhaustive", "1h"), fixture.store(), builtin_registry()).value();
  CHECK(report.outcomes.at(Outcome::kTooSlow) == 1);
  REQUIRE(report.best.has_value());
  CHECK(report.best->configuration.values == std::vector<Value>{4, 2});
  for (const Measured& tied : report.tied) {
    CHECK(tied.configuration.values != std::vector<Value>{3, 2});
  }
  CHECK(fixture.record()->configuration.values == std::vector<Value>{4, 2});
  const auto trials = fixture.store().trials(report.session, fixture.request("random", "1trials").spec.parameters).value();
  const auto slow = std::ranges::find(trials, Outcome::kTooSlow, &Trial::outcome);
  REQUIRE(slow != trials.end());
  CHECK(slow->measurement.median_us == doctest::Approx(1.0));
  CHECK_FALSE(slow->final_round);
}

TEST_CASE("a session where nothing was right names its first failure, and what was too slow is none") {
  Fixture fixture(1e6);
  TuneRequest request = fixture.restricted({{"a", {"3"}}, {"b", {"2"}}}, "exhaustive");
  const TuneReport report = tune(request, fixture.store(), builtin_registry()).value();
  CHECK_FALSE(report.best.has_value());
  CHECK(report.first_failure.empty());
}

TEST_CASE("a budget in trials is kept to") {
  Fixture fixture;
  const TuneReport report = tune(fixture.request("random", "10trials"), fixture.store(), builtin_registry()).value();
  CHECK(total(report) == 10);
  CHECK(fixture.store().sessions().value().front().trials == 10);
}

TEST_CASE("a budget in seconds counts the recorded seconds") {
  Fixture fixture;
  const TuneReport report = tune(fixture.request("random", "1s"), fixture.store(), builtin_registry()).value();
  CHECK(total(report) < 20);
  CHECK(report.seconds >= 0.9);
}

TEST_CASE("a session that had time for its default alone says so, unless that was asked for") {
  Fixture brief, asked;
  const TuneReport short_of_time = tune(brief.request("random", "0.01s"), brief.store(), builtin_registry()).value();
  REQUIRE(total(short_of_time) == 1);
  REQUIRE(short_of_time.notes.size() == 1);
  CHECK(short_of_time.notes.front().find("nothing but the default was measured") != std::string::npos);
  CHECK(tune(asked.request("random", "1trials"), asked.store(), builtin_registry()).value().notes.empty());
}

TEST_CASE("the same seed gives the same session") {
  Fixture first, second;
  const TuneReport a = tune(first.request("random", "12trials"), first.store(), builtin_registry()).value();
  const TuneReport b = tune(second.request("random", "12trials"), second.store(), builtin_registry()).value();
  CHECK(a.best->configuration == b.best->configuration);
  CHECK(a.outcomes == b.outcomes);
}

TEST_CASE("a restricted session searches its part of the space, whatever the strategy") {
  Fixture fixture;
  for (const auto& strategy : builtin_registry().strategies()) {
    CAPTURE(strategy->name());
    TuneRequest request = fixture.restricted({{"a", {"3"}}, {"b", {"1", "5", "6"}}}, std::string(strategy->name()));
    request.budget = parse_budget("3trials").value();
    const auto report = tune(request, fixture.store(), builtin_registry());
    REQUIRE_MESSAGE(report.ok(), report.error().message);
    CHECK((report->valid == 3));
    CHECK(report->best->configuration.values.front() == Value(3));
    CHECK(tune(fixture.restricted({{"a", {"3"}}, {"b", {"2"}}}, std::string(strategy->name())), fixture.store(), builtin_registry())->best);
  }
}

TEST_CASE("a restricted session makes the record where there is none, and replaces none that is faster") {
  Fixture fixture;
  CHECK_FALSE(tune(fixture.restricted({{"a", {"2"}}}), fixture.store(), builtin_registry())->faster_record);
  REQUIRE(fixture.record());
  CHECK(fixture.record()->configuration.values == std::vector<Value>{2, 2});
  CHECK_FALSE(tune(fixture.restricted({{"a", {"3"}}}), fixture.store(), builtin_registry())->faster_record);  // faster than that
  CHECK(fixture.record()->configuration.values == std::vector<Value>{3, 2});
  CHECK(tune(fixture.request("exhaustive", "1h"), fixture.store(), builtin_registry()).ok());

  const TuneReport slower = tune(fixture.restricted({{"a", {"1"}}}), fixture.store(), builtin_registry()).value();
  CHECK(slower.best->configuration.values == std::vector<Value>{1, 2});
  REQUIRE(slower.faster_record);
  CHECK(slower.faster_record->configuration.values == std::vector<Value>{4, 2});
  CHECK(fixture.record()->configuration.values == std::vector<Value>{4, 2});
  // The same configuration measured again is news of the record.
  const TuneReport again = tune(fixture.restricted({{"a", {"4"}}}), fixture.store(), builtin_registry()).value();
  CHECK_FALSE(again.faster_record);
  CHECK(fixture.record()->session == again.session);
}

TEST_CASE("a session begins with the default and the problem's record, so that it loses no winner; without transfer it knows of none") {
  Fixture fixture;
  CHECK(tune(fixture.request("exhaustive", "1h"), fixture.store(), builtin_registry()).ok());
  TuneRequest brief = fixture.request("random", "2trials");
  CHECK(tune(brief, fixture.store(), builtin_registry())->best->configuration.values == std::vector<Value>{4, 2});
  brief.budget = parse_budget("1trials").value();
  brief.seed = 1;
  CHECK(total(tune(brief, fixture.store(), builtin_registry()).value()) == 1);
  brief.budget = parse_budget("2trials").value();
  brief.transfer = false;
  CHECK(tune(brief, fixture.store(), builtin_registry())->best->configuration.values != std::vector<Value>{4, 2});
}

TEST_CASE("what was withdrawn sets no pace: the best of the others gets to the final round however far behind it is") {
  Fixture fixture;
  TuneRequest request = fixture.request("exhaustive", "1h");
  const double fastest_us = tune(request, fixture.store(), builtin_registry())->best->measurement.median_us;
  REQUIRE(fixture.record()->configuration.values == std::vector<Value>{4, 2});
  REQUIRE(fixture.store().set_record_state({fixture.record()->id}, RecordState::kWithdrawn, "").ok());
  request.seed = 1;
  SUBCASE("at the end of the budget") {
    const TuneReport again = tune(request, fixture.store(), builtin_registry()).value();
    CHECK(again.best->measurement.median_us == doctest::Approx(1.1 * fastest_us));
    CHECK(again.notes ==
          std::vector<std::string>{"configurations that were withdrawn from this problem are not chosen (hone records --all)"});
    CHECK(fixture.record()->session == again.session);
  }
  SUBCASE("in a part of a session, which has no final round") {
    request.finish = false;
    const TuneReport again = tune(request, fixture.store(), builtin_registry()).value();
    CHECK(again.best->measurement.median_us == doctest::Approx(1.1 * fastest_us));
    CHECK(fixture.record()->session == again.session);
  }
  SUBCASE("where nothing else is right it is measured, and is no record") {
    TuneRequest alone = fixture.restricted({{"a", {"4", "6"}}, {"b", {"2"}}}, "exhaustive");
    const TuneReport again = tune(alone, fixture.store(), builtin_registry()).value();
    CHECK(again.best->measurement.median_us == doctest::Approx(fastest_us));
    CHECK(again.notes.empty());
    CHECK(again.not_kept.find("it was withdrawn from this problem") == 0);
    CHECK_FALSE(fixture.record());
  }
}

TEST_CASE("a session that did not try the record leaves it in place where it is faster") {
  Fixture fixture;
  CHECK(tune(fixture.request("exhaustive", "1h"), fixture.store(), builtin_registry()).ok());
  TuneRequest brief = fixture.request("random", "1trials");
  SUBCASE("ended with the default") {}
  SUBCASE("knew of none") {
    brief.budget = parse_budget("2trials").value();
    brief.transfer = false;
  }
  const TuneReport report = tune(brief, fixture.store(), builtin_registry()).value();
  REQUIRE(report.faster_record);
  CHECK(report.best->configuration.values != std::vector<Value>{4, 2});
  CHECK(report.faster_record->configuration.values == std::vector<Value>{4, 2});
  CHECK(fixture.record()->configuration.values == std::vector<Value>{4, 2});
}

TEST_CASE("an unfinished session is gone on with under its own restriction only") {
  Fixture fixture;
  std::stop_source stop;
  stop.request_stop();
  TuneRequest stopped = fixture.restricted({{"a", {"2", "3"}}});
  stopped.stop = stop.get_token();
  CHECK(tune(stopped, fixture.store(), builtin_registry()).error().code == ErrorCode::kCancelled);
  CHECK(restriction_text(fixture.store().sessions().value().front()) == "a=2|3");
  fixture.reopen();
  CHECK(tune(fixture.request("exhaustive", "1h"), fixture.store(), builtin_registry())->session == 2);
  CHECK(tune(fixture.restricted({{"a", {"2"}}}), fixture.store(), builtin_registry())->session == 3);
  const TuneReport resumed = tune(fixture.restricted({{"a", {"3", "2"}}}), fixture.store(), builtin_registry()).value();
  CHECK(resumed.session == 1);
  CHECK(resumed.resumed_trials == 1);
}

TEST_CASE("a restricted session learns from others and keeps no model, which would know less than the whole space's") {
  Fixture fixture;
  CHECK(tune(fixture.request("exhaustive", "1h"), fixture.store(), builtin_registry()).ok());
  CHECK(tune(fixture.restricted({{"a", {"2", "3"}}}, "reinforcement"), fixture.store(), builtin_registry())->prior_trials == 12);
  CHECK(fixture.store().find_model("toy", "reinforcement").value().empty());
}

TEST_CASE("a restriction that cannot be met leaves no session behind") {
  Fixture fixture;
  const auto unknown = tune(fixture.restricted({{"a", {"7"}}}), fixture.store(), builtin_registry());
  CHECK(unknown.error().message.find("unknown value of a '7' (known: 1, 2") != std::string::npos);
  CHECK(fixture.store().sessions().value().empty());
}

TEST_CASE("an unknown strategy leaves no session behind") {
  Fixture fixture;
  const auto report = tune(fixture.request("magic", "10trials"), fixture.store(), builtin_registry());
  REQUIRE_FALSE(report.ok());
  CHECK(fixture.store().sessions().value().empty());
}

}  // namespace hone
