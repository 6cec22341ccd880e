#include <doctest/doctest.h>

#include <map>
#include <random>

#include "tests/measure/track.hpp"

using namespace hone;
using fake::Call;
using fake::FakeDevice;
using fake::FakeKernel;
using fake::kConfiguration;
using fake::taking;
using fake::Track;

namespace {

/// A long-tailed time around `us`, the same for the same run.
std::function<double(int)> noisy(double us, double spread) {
  return
      [us, spread](int run) { return us * (1.0 + spread * std::fabs(static_cast<double>(random_element(3, static_cast<unsigned>(run))))); };
}

}  // namespace

TEST_CASE("steady times stop soon after the minimum of samples") {
  Track track;
  const Measurement measured = track.time(taking([](int) { return 100.0; }));
  CHECK(measured.median_us == 100.0);
  CHECK(measured.samples_us.size() == 20);  // batches of 5, 5, 10: the first stop at or past 11
  CHECK_FALSE(measured.raced_out);
}

TEST_CASE("warm-up runs are no samples") {
  Track track;
  track.settings.warmup_runs = 3;
  const Measurement measured = track.time(taking([](int run) { return run < 3 ? 1000.0 : 100.0; }));
  CHECK(measured.ci95_high_us == 100.0);
}

TEST_CASE("noisy times take more samples, up to the maximum") {
  Track track;
  CHECK(track.time(taking(noisy(100.0, 2.0))).samples_us.size() == 201);
  const std::size_t some = track.time(taking(noisy(100.0, 0.1))).samples_us.size();
  CHECK(some > 20);
  CHECK(some < 201);
}

TEST_CASE("the time budget counts device time and leaves at least race_samples") {
  Track track;
  track.settings.maximum_seconds = 0.5;
  CHECK(track.time(taking([](int run) { return 3e5 + 1e5 * (run % 2); })).samples_us.size() == 5);
  CHECK(track.time(taking([](int run) { return 3e4 + 1e4 * (run % 2); })).samples_us.size() <= 15);
}

TEST_CASE("a clearly slower configuration is dropped after race_samples") {
  Track track;
  const Measurement lost = track.time(taking([](int) { return 120.0; }), 100.0);
  CHECK(lost.raced_out);
  CHECK(lost.samples_us.size() == 5);
  CHECK(lost.median_us == 120.0);
}

TEST_CASE("a hopelessly slower one is dropped after one sample") {
  Track track;
  const Measurement lost = track.time(taking([](int) { return 1000.0; }), 100.0);
  CHECK(lost.raced_out);
  CHECK(lost.samples_us.size() == 1);
}

TEST_CASE("one fast sample keeps a configuration in the race, and so does a time within the margin") {
  Track track;
  CHECK_FALSE(track.time(taking([](int run) { return run == 4 ? 105.0 : 120.0; }), 100.0).raced_out);
  CHECK_FALSE(track.time(taking([](int) { return 109.0; }), 100.0).raced_out);
  CHECK_FALSE(track.time(taking([](int) { return 90.0; }), 100.0).raced_out);
}

TEST_CASE("a first look drops what takes longer than the limit twice, and tells the shorter time") {
  Track track;
  const auto look = [&track](const FakeKernel& kernel) { return *track.bench->look(kernel, kConfiguration, track.settings, 150.0); };
  const auto seen = look(taking([](int run) { return run == 0 ? 900.0 : 400.0; }));
  REQUIRE(seen);
  CHECK(seen->median_us == 400.0);
  CHECK(seen->raced_out);
  const FakeKernel slow_once = taking([](int run) { return run == 0 ? 900.0 : 140.0; }), fast = taking(140.0);
  CHECK_FALSE(look(slow_once));
  CHECK_FALSE(look(fast));
  CHECK(slow_once.launches == 2);
  CHECK(fast.launches == 1);
}

TEST_CASE("a first look at a throttled device drops nobody") {
  Track track;
  track.device.throttle = []() -> std::uint64_t { return 0x20; };
  CHECK_FALSE(*track.bench->look(taking(400.0), kConfiguration, track.settings, 150.0));
}

TEST_CASE("an in-place argument is restored before every timed run, and zeroed ones are zeroed") {
  Track track({fake::argument("x", Direction::kInOut, fake::n()), fake::argument("count", Direction::kOut, fake::n(), true),
               fake::argument("scratch", Direction::kWorkspace, fake::n(), true)});
  track.device.reference = [](const Call& call) {
    call.pointer<double>(0)[99] += 1.0;
    call.pointer<double>(1)[99] += 1.0;
  };
  std::optional<float> first;
  int dirty = 0;
  FakeKernel kernel([&](const Call& call) {
    float& x = call.pointer<float>(0)[99];
    first = first.value_or(x);
    dirty += x != *first || call.pointer<float>(1)[99] != 0.0F || call.pointer<float>(2)[99] != 0.0F ? 1 : 0;
    x += 1.0F;
    call.pointer<float>(1)[99] += 1.0F;
    call.pointer<float>(2)[99] += 1.0F;
  });
  track.time(kernel);
  CHECK(kernel.launches > 11);
  CHECK(dirty == 0);
}

TEST_CASE("a throttled batch is discarded and taken again") {
  Track track;
  int reading = 0;
  track.device.throttle = [&reading]() -> std::uint64_t { return ++reading == 2 ? 0x20 : 0; };  // at the end of the first batch
  const Measurement measured = track.time(taking([](int run) { return run < 7 ? 500.0 : 100.0; }));
  CHECK(track.readings.discarded_samples == 5);
  CHECK(track.readings.throttle_reasons == 0);
  CHECK(measured.ci95_high_us == 100.0);
}

TEST_CASE("the power cap is recorded and discards nothing") {
  Track track;
  track.device.throttle = [] { return std::uint64_t{0x4}; };
  track.time(taking([](int) { return 100.0; }));
  CHECK(track.readings.discarded_samples == 0);
  CHECK(track.readings.throttle_reasons == 0x4);
  CHECK(track.readings.sm_clock_mhz == 1980.0);
}

TEST_CASE("a device that stays throttled is measured in the end, and its readings say so") {
  Track track;
  track.settings.minimum_samples = track.settings.race_samples;
  track.device.throttle = [] { return std::uint64_t{0x40}; };
  const Measurement measured = track.time(taking([](int) { return 100.0; }));
  CHECK(measured.median_us == 100.0);
  CHECK(track.readings.throttle_reasons == 0x40);
  CHECK(track.readings.discarded_samples == 20);
}

TEST_CASE("a launch that fails while timing is an error") {
  Track track;
  FakeKernel kernel = taking([](int) { return 100.0; });
  kernel.launch_error = Error{ErrorCode::kLaunch, "refused"};
  CHECK_FALSE(track.bench->time(kernel, kConfiguration, track.settings, std::nullopt, track.readings).ok());
}

TEST_CASE("interleaving visits all finalists equally often, once a round, in changing order") {
  Track track;
  track.settings.warmup_runs = 1;
  std::vector<FakeKernel> kernels;
  std::vector<Bench::Finalist> finalists;
  for (int i = 0; i < 4; ++i) {
    kernels.push_back(taking(noisy(100.0 + i, 0.2)));
  }
  for (const FakeKernel& kernel : kernels) {
    finalists.push_back({&kernel, kConfiguration});
  }
  const auto measured = *track.bench->time_interleaved(finalists, track.settings, 1, track.readings);
  REQUIRE(measured.size() == 4);
  const std::size_t rounds = measured[0].measurement.samples_us.size();
  CHECK(rounds >= 11);
  REQUIRE(track.device.timed.size() == 4 + 4 * rounds + 4);  // the warm-up comes first, a run of each to look at last
  std::map<std::vector<const LoadedKernel*>, int> orders;
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto begin = track.device.timed.begin() + static_cast<std::ptrdiff_t>(4 + 4 * round);
    std::vector<const LoadedKernel*> order(begin, begin + 4);
    ++orders[order];
    std::sort(order.begin(), order.end());
    CHECK(std::unique(order.begin(), order.end()) == order.end());
  }
  CHECK(orders.size() > 3);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(measured[i].measurement.samples_us.size() == rounds);
  }
}

TEST_CASE("drift while the finalists are measured does not change which is fastest") {
  Track track;
  int runs = 0;
  const auto drifting = [&runs](double us) { return [&runs, us](int) { return us * (1.0 + 0.002 * ++runs); }; };
  const FakeKernel slow = taking(drifting(103.0)), fast = taking(drifting(100.0));
  const std::vector<Bench::Finalist> finalists{{&slow, kConfiguration}, {&fast, kConfiguration}};
  const auto measured = *track.bench->time_interleaved(finalists, track.settings, 5, track.readings);
  CHECK(measured[1].measurement.median_us < measured[0].measurement.median_us);
}

TEST_CASE("finalists of different workspaces share one that fits them all") {
  const Expression scratch = Expression::make(Operator::kMultiply, {Expression::variable("c.split"), fake::n()});
  Track track({fake::argument("x", Direction::kInOut, fake::n()), fake::argument("scratch", Direction::kWorkspace, scratch)});
  const FakeKernel one([](const Call& call) { std::fill_n(call.pointer<float>(1), 100, 1.0F); });
  const FakeKernel four([](const Call& call) { std::fill_n(call.pointer<float>(1), 400, 4.0F); });
  const std::vector<Bench::Finalist> finalists{{&four, Configuration{{Value(4)}}}, {&one, kConfiguration}};
  CHECK(track.bench->time_interleaved(finalists, track.settings, 5, track.readings).ok());
}

TEST_CASE("no finalists give no measurements") {
  Track track;
  CHECK(track.bench->time_interleaved({}, track.settings, 1, track.readings)->empty());
}

namespace {

/// y = x, timed after `behave(launch, call)` has had its say: it returns whether to do the work.
Validation time_misbehaving(const std::function<bool(int, const Call&)>& behave, double us = 100.0) {
  Track track({fake::argument("x", Direction::kIn, fake::n()), fake::argument("y", Direction::kOut, fake::n())});
  track.device.reference = [](const Call& call) { std::copy_n(call.pointer<const float>(0), 100, call.pointer<double>(1)); };
  int launch = 0;
  FakeKernel kernel([&](const Call& call) {
    if (behave(++launch, call)) {
      std::copy_n(call.pointer<const float>(0), 100, call.pointer<float>(1));
    }
  });
  kernel.time_us = [us](int) { return us; };
  REQUIRE(track.bench->validate(kernel, kConfiguration, 1)->outcome == Outcome::kOk);
  track.time(kernel);
  const Validation seen = track.validation;
  // Whoever comes next must not pay for it.
  FakeKernel honest([](const Call& call) { std::copy_n(call.pointer<const float>(0), 100, call.pointer<float>(1)); });
  CHECK(track.bench->validate(honest, kConfiguration, 1)->outcome == Outcome::kOk);
  track.time(honest);
  CHECK(track.validation.outcome == Outcome::kOk);
  return seen;
}

bool always(int, const Call&) { return true; }

}  // namespace

TEST_CASE("a kernel that leaves the work to earlier launches is found, however it remembers them") {
  CHECK(time_misbehaving(always).outcome == Outcome::kOk);
  CHECK(time_misbehaving([](int launch, const Call&) { return launch <= 2; }).outcome == Outcome::kRace);
  CHECK(time_misbehaving([](int launch, const Call&) { return launch < 64 && launch % 3 != 0; }).outcome == Outcome::kRace);
  // By what lies in the output: neither poison nor zero means that it has been here.
  CHECK(time_misbehaving([](int, const Call& call) {
          return std::isnan(call.pointer<float>(1)[50]) || call.pointer<float>(1)[50] > 1e30F;
        }).outcome == Outcome::kRace);
  // And in a graph of calls.
  CHECK(time_misbehaving(always, 10.0).outcome == Outcome::kOk);
  CHECK(time_misbehaving([](int launch, const Call&) { return launch <= 5; }, 10.0).outcome == Outcome::kRace);
}

TEST_CASE("what is written astray while it is timed is seen and charged to who was timed") {
  for (const double us : {100.0, 10.0}) {
    const auto past_the_end = [](int launch, const Call& call) {
      call.pointer<float>(1)[100] = launch > 6 ? 1.0F : call.pointer<float>(1)[100];
      return true;
    };
    const Validation seen = time_misbehaving(past_the_end, us);
    CAPTURE(us);
    CAPTURE(seen.detail);
    CHECK(seen.outcome == Outcome::kIllegalAccess);
    CHECK(seen.detail.find("'y' was written past its end") != std::string::npos);
    CHECK(time_misbehaving(
              [](int launch, const Call& call) {
                const_cast<float*>(call.pointer<const float>(0))[7] += launch > 6 ? 0.5F : 0.0F;
                return true;
              },
              us)
              .outcome != Outcome::kOk);
  }
}

TEST_CASE("repeated launches find what goes wrong now and then") {
  Track track({fake::argument("x", Direction::kIn, fake::n()), fake::argument("y", Direction::kOut, fake::n())});
  track.device.reference = [](const Call& call) { std::copy_n(call.pointer<const float>(0), 100, call.pointer<double>(1)); };
  int launch = 0, rare = 40;
  FakeKernel kernel([&](const Call& call) {
    std::copy_n(call.pointer<const float>(0), 100, call.pointer<float>(1));
    call.pointer<float>(1)[3] += ++launch % rare == 0 ? 1.0F : 0.0F;
  });
  CHECK(track.bench->repeat(kernel, kConfiguration, 200, 60.0)->outcome == Outcome::kRace);
  rare = 1000;
  launch = 0;
  CHECK(track.bench->repeat(kernel, kConfiguration, 200, 60.0)->outcome == Outcome::kOk);
}

TEST_CASE("of finalists, one that does damage is out, and the others are not blamed") {
  Track track({fake::argument("x", Direction::kIn, fake::n()), fake::argument("y", Direction::kOut, fake::n())});
  track.device.reference = [](const Call& call) { std::copy_n(call.pointer<const float>(0), 100, call.pointer<double>(1)); };
  const auto right = [](const Call& call) { std::copy_n(call.pointer<const float>(0), 100, call.pointer<float>(1)); };
  int launch = 0;
  FakeKernel first(right), last(right);
  FakeKernel vandal([&](const Call& call) {
    right(call);
    const_cast<float*>(call.pointer<const float>(0))[7] += ++launch > 4 ? 0.5F : 0.0F;
  });
  const std::vector<Bench::Finalist> finalists{{&first, kConfiguration}, {&vandal, kConfiguration}, {&last, kConfiguration}};
  const auto timed = *track.bench->time_interleaved(finalists, track.settings, 1, track.readings);
  CHECK(timed[0].validation.outcome == Outcome::kOk);
  CHECK(timed[1].validation.outcome == Outcome::kIllegalAccess);
  CHECK(timed[2].validation.outcome == Outcome::kOk);
  CHECK(timed[2].measurement.samples_us.size() >= 11);
}
