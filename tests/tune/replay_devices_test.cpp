// Sessions on several recorded devices, on the clock of the recorded seconds.
#include "tests/tune/replay_fixture.hpp"

namespace hone::replay_test {
namespace {

TuneRequest on(Fixture& fixture, std::size_t devices, const std::string& strategy, const std::string& budget) {
  TuneRequest request = fixture.request(strategy, budget);
  request.resume = false;
  for (std::size_t i = 1; i < devices; ++i) {
    DeviceInfo more = request.device.info;
    more.id += ":" + std::to_string(i);
    request.more_devices.push_back(more);
  }
  return request;
}

}  // namespace

TEST_CASE("four devices take a quarter of one's time, and find the same") {
  Fixture fixture;
  const TuneReport one = tune(on(fixture, 1, "exhaustive", "1h"), fixture.store(), builtin_registry()).value();
  const TuneReport four = tune(on(fixture, 4, "exhaustive", "1h"), fixture.store(), builtin_registry()).value();
  CHECK(total(one) == 36);
  CHECK(total(four) == 36);
  CHECK(one.seconds / four.seconds == doctest::Approx(36.0 / (1.0 + 36.0 / 4.0)).epsilon(0.02));  // the default is measured alone
  REQUIRE(four.best.has_value());
  CHECK(four.best->configuration == one.best->configuration);
  REQUIRE(four.devices.size() == 4);
  std::int64_t trials = 0;
  for (const DeviceShare& device : four.devices) {
    CHECK(device.trials > 0);
    trials += device.trials;
  }
  CHECK(trials == total(four) - four.outcomes.at(Outcome::kCompileError));
  CHECK(one.devices.size() == 1);
}

TEST_CASE("several devices keep to a budget of trials, and no configuration is tried twice") {
  for (const char* strategy : {"auto", "random", "local_search"}) {
    CAPTURE(strategy);
    Fixture fixture;
    const TuneRequest request = on(fixture, 3, strategy, "17trials");
    const TuneReport report = tune(request, fixture.store(), builtin_registry()).value();
    CHECK(total(report) == 17);  // the store takes a configuration once: a second trial of it would be an error
    const std::vector<Trial> trials = fixture.store().trials(report.session, request.spec.parameters).value();
    CHECK(trials.size() == 17);
  }
}

TEST_CASE("a session that several devices began is resumed by one, and the other way round") {
  for (const std::size_t first : {1, 3}) {
    Fixture fixture;
    TuneRequest request = on(fixture, first, "random", "9trials");
    request.finish = false;
    request.resume = true;
    const TuneReport part = tune(request, fixture.store(), builtin_registry()).value();
    TuneRequest rest = on(fixture, 4 - first, "random", "20trials");
    rest.resume = true;
    const TuneReport whole = tune(rest, fixture.store(), builtin_registry()).value();
    CHECK(whole.session == part.session);
    CHECK(whole.resumed_trials == 9);
    CHECK(total(whole) == 20);
    CHECK(whole.best.has_value());
  }
}

}  // namespace hone::replay_test
