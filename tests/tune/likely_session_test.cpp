#include <algorithm>

#include "engine/plugin/registry.hpp"
#include "engine/store/expectation_evidence.hpp"
#include "hone/plugin.hpp"
#include "tests/space/described.hpp"
#include "tests/tune/replay_fixture.hpp"

namespace hone {
namespace {

using replay_test::Fixture;
using replay_test::total;

/// The recorded space is 6 x 6, the best at (4, 2), and the default, in the middle of the lists, (4, 4).
TuneRequest expecting(Fixture& fixture, const std::vector<std::string>& expectations, Likely likely = Likely::kFirst,
                      const std::string& budget = "1h") {
  TuneRequest request = fixture.request("exhaustive", budget);
  request.spec.expectations = test::conditions(request.spec.parameters, expectations);
  request.likely = likely;
  return request;
}

TuneReport tuned(const TuneRequest& request, Fixture& fixture) {
  auto report = tune(request, fixture.store(), builtin_registry());
  INFO((report ? std::string() : report.error().message));
  REQUIRE(report.ok());
  return *report;
}

std::vector<Trial> trials_of(const TuneReport& report, const TuneRequest& request, Fixture& fixture) {
  return fixture.store().trials(report.session, request.spec.parameters).value();
}

/// Takes positions in order, and keeps what each of its instances sees of the space.
struct Looker : plugin::Strategy {
  struct Look {
    plugin::Position size = 0, likely_size = 0;
    std::size_t expectations = 0;
  };
  static constexpr plugin::About kAbout{.name = "looker", .summary = "looks at the space"};
  static inline std::vector<Look> looks;
  explicit Looker(const plugin::Context& context) : taken(context) {
    const plugin::Space space = context.space();
    looks.push_back({space.size(), space.likely_size(), space.expectations()});
  }
  std::vector<plugin::Position> ask(std::size_t) override {
    while (taken.left() > 0 && !taken.claim(next)) {
      ++next;
    }
    return taken.left() > 0 || next < looks.back().size ? std::vector{next} : std::vector<plugin::Position>{};
  }
  void tell(std::span<const plugin::Observation> observations) override { taken.claim(observations); }
  plugin::Taken taken;
  plugin::Position next = 0;
};
struct Weigher : Looker {
  static constexpr plugin::About kAbout{.name = "weigher", .summary = "looks at the whole space", .weighs_expectations = true};
  using Looker::Looker;
};

/// What the instances of a strategy saw in a session.
std::vector<Looker::Look> looks_of(const std::string& strategy, Likely likely) {
  Fixture fixture;
  Registry registry = make_builtin_registry();
  registry.add(std::make_unique<StrategyPlugin>(plugin::table<Looker>()));
  registry.add(std::make_unique<StrategyPlugin>(plugin::table<Weigher>()));
  TuneRequest request = expecting(fixture, {"a > 3", "b != 2"}, likely);
  request.strategy = strategy;
  Looker::looks.clear();
  const auto report = tune(request, fixture.store(), registry);
  REQUIRE_MESSAGE(report.ok(), (report.ok() ? std::string() : report.error().message));
  CHECK(report->faults.failed == 0);
  return Looker::looks;
}

/// How many trials after the default meet "a > 3" before the first that does not.
std::size_t likely_before_others(const std::vector<Trial>& trials) {
  const auto other =
      std::find_if(trials.begin() + 1, trials.end(), [](const Trial& trial) { return trial.configuration.values[0].integer() <= 3; });
  return static_cast<std::size_t>(other - trials.begin()) - 1;
}

}  // namespace

TEST_CASE("the likely configurations come first, then all others, and none twice") {
  Fixture fixture;
  for (const char* strategy : {"exhaustive", "auto"}) {
    CAPTURE(strategy);
    TuneRequest request = expecting(fixture, {"a > 3"});
    request.strategy = strategy;
    request.transfer = false;
    const TuneReport report = tuned(request, fixture);
    CHECK((report.valid == 36));
    CHECK((report.likely == 18));
    CHECK(total(report) == 36);
    CHECK(likely_before_others(trials_of(report, request, fixture)) == 17);
    CHECK(report.broken.empty());
    CHECK(report.best->configuration.values == std::vector<Value>{4, 2});
  }
}

TEST_CASE("after its share of the budget the search goes on in the whole space") {
  Fixture fixture;
  const TuneRequest request = expecting(fixture, {"a > 3"}, Likely::kFirst, "20trials");
  const TuneReport report = tuned(request, fixture);
  CHECK(total(report) == 20);
  const std::size_t likely = likely_before_others(trials_of(report, request, fixture));
  CHECK(likely == 13);  // and the default: 14 of 20
}

TEST_CASE("a part of a session looks beyond what is likely once that is most of what it is expected to get in all") {
  Fixture fixture;
  TuneRequest request = expecting(fixture, {"a > 3"}, Likely::kFirst, "16trials");
  request.finish = false;
  request.expected_budget.trials = 40;
  const auto likely = [&](const TuneReport& report) {
    const auto all = trials_of(report, request, fixture);
    return std::ranges::count_if(all, [](const Trial& trial) { return trial.configuration.values[0].integer() > 3; });
  };
  const TuneReport part = tuned(request, fixture);
  CHECK(total(part) == 16);
  CHECK(likely(part) == 16);
  request.expected_budget.trials.reset();
  request.seed = 1;  // another session
  CHECK(likely(tuned(request, fixture)) < 16);
}

TEST_CASE("only: the likely configurations and the default; ignore: as if there were no expectations") {
  Fixture fixture;
  const TuneRequest only = expecting(fixture, {"a > 3", "b != 2"}, Likely::kOnly);
  const TuneReport narrow = tuned(only, fixture);
  CHECK(total(narrow) == 15);
  CHECK((narrow.likely == 15));
  const std::vector<Trial> trials = trials_of(narrow, only, fixture);
  CHECK(likely_before_others(trials) == 14);
  for (const Trial& trial : trials) {  // recorded as positions of the legal space
    CHECK(only.recorded->space().at(trial.position) == trial.configuration);
  }
  CHECK((narrow.best->configuration.values[1] != Value(2)));

  TuneRequest ignoring = expecting(fixture, {"a > 3"}, Likely::kIgnore);
  TuneRequest without = expecting(fixture, {});
  ignoring.transfer = without.transfer = false;
  const auto configurations = [&](const TuneRequest& request) {
    std::vector<Configuration> tried;
    for (const Trial& trial : trials_of(tuned(request, fixture), request, fixture)) {
      tried.push_back(trial.configuration);
    }
    return tried;
  };
  CHECK(configurations(ignoring) == configurations(without));
}

TEST_CASE("a strategy that weighs expectations sees the whole space and what is expected of it; another one the likely part before") {
  const auto weighing = looks_of("weigher", Likely::kFirst);
  REQUIRE(weighing.size() == 1);
  CHECK((weighing[0].size == 36));
  CHECK((weighing[0].likely_size == 15));
  CHECK(weighing[0].expectations == 2);
  const auto looking = looks_of("looker", Likely::kFirst);
  REQUIRE(looking.size() == 2);
  CHECK((looking[0].size == 15));
  CHECK((looking[0].likely_size == 15));
  CHECK(looking[0].expectations == 0);
  CHECK((looking[1].size == 36));
  CHECK((looking[1].likely_size == 15));
  CHECK(looking[1].expectations == 2);
}

TEST_CASE("only and ignore hold for a strategy that weighs expectations, too") {
  const auto only = looks_of("weigher", Likely::kOnly), ignoring = looks_of("weigher", Likely::kIgnore);
  REQUIRE(only.size() == 1);
  CHECK((only[0].size == 15));
  REQUIRE(ignoring.size() == 1);
  CHECK((ignoring[0].size == 36));
  CHECK((ignoring[0].likely_size == 36));
  CHECK(ignoring[0].expectations == 0);
}

TEST_CASE("a winner that breaks expectations is the record like any other, and the report says which it breaks") {
  Fixture fixture;
  const TuneReport report = tuned(expecting(fixture, {"a > 3", "b > 2", "a + b < 6"}), fixture);
  CHECK(report.best->configuration.values == std::vector<Value>{4, 2});
  REQUIRE(report.broken.size() == 2);
  CHECK(report.broken[0].text == "b > 2");
  CHECK(report.broken[1].text == "a + b < 6");
  CHECK(fixture.record()->configuration.values == std::vector<Value>{4, 2});
  // The same expectations keep no later session from it.
  CHECK(tuned(expecting(fixture, {"a > 3", "b > 2"}, Likely::kOnly), fixture).best->configuration.values == std::vector<Value>{4, 2});
}

TEST_CASE("the default counts as likely, whatever is expected") {
  Fixture fixture;
  for (const Likely likely : {Likely::kOnly, Likely::kFirst}) {
    TuneRequest request = expecting(fixture, {"a > 4", "b > 3"}, likely);
    request.budget = parse_budget("1trials").value();
    request.transfer = false;
    const TuneReport report = tuned(request, fixture);
    CHECK(report.best->configuration.values == std::vector<Value>{4, 4});
    CHECK(report.broken.empty());
    request.budget = parse_budget("1h").value();
    CHECK(total(tuned(request, fixture)) == (likely == Likely::kOnly ? 7 : 36));
  }
}

TEST_CASE("expectations that contradict one another leave the whole space likely, and the report says so") {
  Fixture fixture;
  const TuneReport report = tuned(expecting(fixture, {"a > 3", "a < 2"}, Likely::kOnly), fixture);
  CHECK(total(report) == 36);
  CHECK((report.likely == 36));
  CHECK_FALSE(report.contradiction.empty());
}

TEST_CASE("an unfinished session goes on under the same use of expectations only, and where it was") {
  Fixture fixture;
  const auto stop_after = [&](TuneRequest request, std::int64_t trials) {
    std::stop_source stop;
    request.stop = stop.get_token();
    request.on_progress = [&](const Progress& progress) {
      if (progress.trials >= trials) {
        stop.request_stop();
      }
    };
    CHECK(tune(request, fixture.store(), builtin_registry()).error().code == ErrorCode::kCancelled);
    fixture.reopen();
  };
  const auto request = [&](Likely likely) {
    TuneRequest made = expecting(fixture, {"a > 3"}, likely, "20trials");
    made.transfer = false;
    return made;
  };
  stop_after(request(Likely::kOnly), 5);
  stop_after(request(Likely::kFirst), 15);
  CHECK(likely_of(fixture.store().sessions().value()[0]) != likely_of(fixture.store().sessions().value()[1]));
  CHECK(tuned(request(Likely::kIgnore), fixture).session == 3);
  const TuneReport only = tuned(request(Likely::kOnly), fixture);
  CHECK(only.session == 1);
  CHECK(only.resumed_trials == 5);
  CHECK(total(only) == 18);
  CHECK(likely_before_others(trials_of(only, request(Likely::kOnly), fixture)) == 17);
  const TuneReport first = tuned(request(Likely::kFirst), fixture);
  CHECK(first.session == 2);
  CHECK(first.resumed_trials == 15);
  CHECK(likely_before_others(trials_of(first, request(Likely::kFirst), fixture)) == 13);
}

TEST_CASE("a use of expectations that does not exist is refused by name") {
  CHECK(parse_likely("only").value() == Likely::kOnly);
  CHECK(parse_likely("onyl").error().message.find("did you mean 'only'?") != std::string::npos);
}

TEST_CASE("a store knows in how many problems the fastest configuration breaks an expectation, and by what factor") {
  Fixture fixture;
  TuneRequest request = expecting(fixture, {"a > 3", "b > 2", "a != 4 || b != 2"});
  CHECK(expectation_evidence(request.spec, request.device.info, fixture.store())->at(1).problems == 0);
  static_cast<void>(tuned(request, fixture));
  const auto evidence = expectation_evidence(request.spec, request.device.info, fixture.store()).value();
  REQUIRE(evidence.size() == 3);
  CHECK(evidence[0].problems == 1);
  CHECK(evidence[0].against == 0);
  CHECK(evidence[0].factor == 1.0);
  CHECK(evidence[1].against == 1);
  CHECK(evidence[1].factor == doctest::Approx(1.1));
  CHECK(evidence[1].where.starts_with("f32"));
  CHECK(evidence[2].factor == doctest::Approx(1.1));
  DeviceInfo other = request.device.info;
  other.product = "another";
  CHECK(expectation_evidence(request.spec, other, fixture.store())->at(1).problems == 0);
}

}  // namespace hone
