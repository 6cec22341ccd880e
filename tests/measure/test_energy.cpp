// Energy by a counter that counts in steps: windows between steps, races, final rounds.
#include <doctest/doctest.h>

#include "tests/measure/track.hpp"

using namespace hone;
using fake::Call;
using fake::FakeDevice;
using fake::FakeKernel;
using fake::kConfiguration;
using fake::taking;
using fake::Track;

namespace {

constexpr double kUpdateSeconds = 0.02;

/// What kernels draw: the counter shows it at the next update alone.
struct Meter {
  double seconds = 0.0, joules = 0.0, shown = 0.0, updated = 0.0, resolution = 1e-3;
  int reads = 0;

  void ran(double us, double watts) {
    seconds += 1e-6 * us;
    joules += 1e-6 * us * watts;
    if (seconds >= updated + kUpdateSeconds) {
      updated = seconds;
      shown = joules;
    }
  }
  EnergyReading read() {
    ++reads;
    return {std::floor(shown / resolution) * resolution, seconds, resolution};
  }
};

FakeKernel drawing(Meter& meter, double us, double watts) {
  FakeKernel kernel = taking(us);
  const FakeKernel::Body body = kernel.body;
  kernel.body = [&meter, us, watts, body](const Call& call) {
    meter.ran(us, watts);
    if (body) {
      body(call);
    }
  };
  return kernel;
}

struct Metered {
  Track track;
  Meter meter;
  Metered() {
    track.device.meter = [this] { return meter.read(); };
    track.settings.objective = {Objective::Kind::kEnergy};
  }
};

}  // namespace

TEST_CASE("the energy of a run is what the counter counts between its steps, shared by the runs between them") {
  Metered of;
  const Measurement measured = of.track.time(drawing(of.meter, 100.0, 500.0));
  REQUIRE(measured.energy_j);
  CHECK(measured.energy_j->value == doctest::Approx(0.05).epsilon(0.001));
  CHECK(measured.energy_j->low <= 0.05 * (1.0 + 1e-9));
  CHECK(measured.energy_j->high >= 0.05 * (1.0 - 1e-9));
  CHECK(measured.energy_j->high - measured.energy_j->low < 0.01 * 0.05);
  CHECK(measured.median_us == 100.0);
}

TEST_CASE("no energy is measured unless the objective asks for it") {
  Metered of;
  of.track.settings.objective = {};
  CHECK_FALSE(of.track.time(drawing(of.meter, 100.0, 500.0)).energy_j);
  CHECK(of.meter.reads == 0);
}

TEST_CASE("a window is long enough for a counter that counts in coarse steps") {
  Metered of;
  of.meter.resolution = 1.0;  // 0.1 s at 500 W are 50 of them: not enough
  const Measurement measured = of.track.time(drawing(of.meter, 100.0, 500.0));
  REQUIRE(measured.energy_j);
  CHECK(measured.energy_j->value == doctest::Approx(0.05).epsilon(0.005));
  CHECK(measured.energy_j->low <= 0.05 * (1.0 + 1e-9));
  CHECK(measured.energy_j->high >= 0.05 * (1.0 - 1e-9));
  CHECK(of.meter.seconds > 6 * 0.4);
}

TEST_CASE("who draws clearly more than the incumbent is dropped after one window") {
  Metered of;
  const FakeKernel kernel = drawing(of.meter, 100.0, 500.0);
  const Measurement lost = of.track.time(kernel, Incumbent{100.0, 1e6 * 0.04});
  CHECK(lost.raced_out);
  REQUIRE(lost.energy_j);
  CHECK(of.meter.seconds < 2 * 0.2);
  Metered closer;
  CHECK_FALSE(closer.track.time(drawing(closer.meter, 100.0, 500.0), Incumbent{100.0, 1e6 * 0.049}).raced_out);
}

TEST_CASE("who draws a little more than the incumbent in every window is dropped after a few") {
  Metered of;
  CHECK(of.track.time(drawing(of.meter, 100.0, 500.0), Incumbent{100.0, 1e6 * 0.048}).raced_out);
  CHECK(of.meter.seconds > 2 * 0.1);
  CHECK(of.meter.seconds < 6 * 0.1);
}

TEST_CASE("who is as close to the incumbent as a finalist is measured to the end") {
  Metered of;
  const Measurement close = of.track.time(drawing(of.meter, 100.0, 500.0), Incumbent{100.0, 1e6 * 0.049});  // 2 % less
  CHECK_FALSE(close.raced_out);
  CHECK(of.meter.seconds > 6 * 0.1);
}

TEST_CASE("windows follow one another without a pause") {
  Metered of;
  of.track.time(drawing(of.meter, 100.0, 500.0));
  CHECK(of.meter.seconds > 6 * 0.1);
  CHECK(of.meter.seconds < 7 * 0.1 + 2 * kUpdateSeconds);
}

TEST_CASE("a slower configuration may still win by its energy, but for one that takes longer than it is allowed") {
  const Incumbent incumbent{.time_us = 100.0, .value = 1e6 * 0.05, .time_allowance = 3.0};
  Metered of;
  CHECK_FALSE(of.track.time(drawing(of.meter, 200.0, 200.0), incumbent).raced_out);
  Metered slow;
  const Measurement lost = slow.track.time(drawing(slow.meter, 400.0, 100.0), incumbent);
  CHECK(lost.raced_out);
  CHECK_FALSE(lost.energy_j);
}

TEST_CASE("a counter that stands still, and none at all, are errors that say what to do") {
  Metered of;
  of.track.device.meter = [&of] { return EnergyReading{1.0, of.meter.seconds, 1e-3}; };
  const auto error = [](Metered& in) {
    Readings readings;
    const FakeKernel kernel = drawing(in.meter, 1e4, 500.0);
    return in.track.bench->time(kernel, kConfiguration, in.track.settings, std::nullopt, readings).error();
  };
  const Error still = error(of);
  CHECK(still.code == ErrorCode::kUnavailable);
  CHECK(still.message.find("did not move") != std::string::npos);
  Metered none;
  none.track.device.meter = nullptr;
  CHECK(error(none).message.find("no energy counter") != std::string::npos);
}

TEST_CASE("a kernel that leaves the work to an earlier run is found by its energy runs, too") {
  Track track({fake::argument("x", Direction::kIn, fake::n()), fake::argument("y", Direction::kOut, fake::n())});
  track.device.reference = [](const Call& call) { std::copy_n(call.pointer<const float>(0), 100, call.pointer<double>(1)); };
  Meter meter;
  track.device.meter = [&meter] { return meter.read(); };
  track.settings.objective = {Objective::Kind::kEnergy};
  const auto outcome = [&](int works_for) {
    FakeKernel kernel([&meter, works_for, calls = 0](const Call& call) mutable {
      meter.ran(100.0, 500.0);
      if (++calls <= works_for) {
        std::copy_n(call.pointer<const float>(0), 100, call.pointer<float>(1));
      }
    });
    kernel.time_us = [](int) { return 100.0; };
    track.time(kernel);
    return track.validation.outcome;
  };
  CHECK(outcome(1 << 30) == Outcome::kOk);
  CHECK(outcome(100) == Outcome::kRace);  // right while it is timed: 2 warm-up runs and 20 samples
}

TEST_CASE("finalists take their windows in turns") {
  Metered of;
  const FakeKernel fast = drawing(of.meter, 100.0, 600.0), frugal = drawing(of.meter, 110.0, 300.0);
  const std::vector<Bench::Finalist> finalists{{&fast, kConfiguration}, {&frugal, kConfiguration}};
  Readings readings;
  const auto timed = of.track.bench->time_interleaved(finalists, of.track.settings, 1, readings);
  REQUIRE(timed.ok());
  REQUIRE((*timed)[0].measurement.energy_j);
  REQUIRE((*timed)[1].measurement.energy_j);
  CHECK((*timed)[0].measurement.median_us < (*timed)[1].measurement.median_us);
  CHECK((*timed)[0].measurement.energy_j->value == doctest::Approx(0.06).epsilon(0.01));
  CHECK((*timed)[1].measurement.energy_j->value == doctest::Approx(0.033).epsilon(0.01));
  CHECK((*timed)[1].measurement.energy_j->high < (*timed)[0].measurement.energy_j->low);
}

TEST_CASE("a percentile takes as many single calls as its interval needs, whatever the limits") {
  Track track;
  track.settings.maximum_seconds = 1e-3;
  track.settings.graph_below_us = 1e9;
  track.settings = settings_for({Objective::Kind::kPercentile, 99.0}, track.settings);
  const Measurement measured = track.time(taking([](int run) { return run % 20 == 0 ? 300.0 : 100.0; }));
  CHECK(measured.samples_us.size() >= 368);
  CHECK_FALSE(measured.by_graph);
  const std::optional<Figure> reached = track.settings.objective.of(measured);
  REQUIRE(reached);
  CHECK(reached->value == 300.0);
  CHECK(measured.median_us == 100.0);
  CHECK(track.time(taking([](int) { return 500.0; }), 300.0).raced_out);
  CHECK_FALSE(track.time(taking([](int) { return 200.0; }), 300.0).raced_out);
}
