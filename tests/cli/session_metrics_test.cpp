#include "cli/session_metrics.hpp"

#include <doctest/doctest.h>

#include "tests/cli/exposition.hpp"

namespace hone::cli {
namespace {

using std::chrono::seconds;
using test::Exposition;

/// A session on two devices, and what happens in it.
struct Happening {
  TuneRequest request;
  SessionMetrics metrics;
  SessionMetrics::Clock::time_point start = SessionMetrics::Clock::now();

  Happening() {
    request.spec.name = "copy";
    request.problem.shape = {{"n", 1024}};
    request.device.info.id = "gpu:0";
    request.device.info.product = "GPU \"X\"";
    request.device.info.uuid = "GPU-1";
    request.more_devices.push_back(request.device.info);
    request.more_devices.front().id = "gpu:1";
  }

  [[nodiscard]] SessionEvent event(SessionEvent::Step step, double busy = 0.0) const {
    return {.step = step,
            .request = request,
            .session = 7,
            .elapsed_seconds = 1.0,
            .pipeline = {.compiling = 3, .ready = 2, .measuring = 1},
            .busy_seconds = busy,
            .default_us = 20.0,
            .best_us = 10.0};
  }
  void trial(const std::string& device, Outcome outcome, double busy, int at, const Readings& readings = {}) {
    Trial one;
    one.device = device;
    one.outcome = outcome;
    one.seconds = {.compile = 0.5, .validate = 0.25, .time = 0.125, .overhead = 0.0625};
    one.readings = readings;
    SessionEvent told = event(SessionEvent::Step::kTrial, busy);
    told.trial = &one;
    metrics.take(told, start + seconds(at));
  }
  void control(const Control& one) {
    SessionEvent told = event(SessionEvent::Step::kControl);
    told.control = &one;
    metrics.take(told, start);
  }
  [[nodiscard]] Exposition told(int at = 0) const { return Exposition(metrics.text(start + seconds(at), 1.5e9)); }
};

}  // namespace

TEST_CASE("trials are counted by outcome and their seconds by stage; outcomes that did not occur are 0") {
  Happening session;
  session.trial("gpu:0", Outcome::kOk, 0.0, 1);
  session.trial("gpu:1", Outcome::kOk, 0.0, 2);
  session.trial("", Outcome::kCompileError, 0.0, 3);
  const Exposition told = session.told();
  CHECK(told.value("hone_trials_total", {{"outcome", "ok"}}) == 2.0);
  CHECK(told.value("hone_trials_total", {{"outcome", "compile_error"}}) == 1.0);
  CHECK(told.value("hone_trials_total", {{"outcome", "race"}}) == 0.0);
  CHECK(told.family("hone_trials_total").samples.size() == all_outcomes().size());
  CHECK(told.value("hone_trial_stage_seconds_total", {{"stage", "compile"}}) == 1.5);
  CHECK(told.value("hone_trial_stage_seconds_total", {{"stage", "validate"}}) == 0.75);
  CHECK(told.value("hone_trial_stage_seconds_total", {{"stage", "time"}}) == 0.375);
  // What failed to compile came to no device.
  CHECK(told.value("hone_device_trials_total", {{"device", "gpu:0"}}) == 1.0);
  CHECK(told.value("hone_device_trials_total", {{"device", "gpu:1"}}) == 1.0);
}

TEST_CASE("times are in seconds, clocks in hertz, and throttling is told by reason") {
  Happening session;
  session.trial("gpu:0", Outcome::kOk, 0.0, 1,
                {.sm_clock_mhz = 1980.0,
                 .memory_clock_mhz = 3201.0,
                 .temperature_c = 61.0,
                 .power_w = 650.0,
                 .throttle_reasons = 0x4,
                 .discarded_samples = 5});
  const Exposition told = session.told();
  CHECK(told.value("hone_best_time_seconds", {{"kernel", "copy"}, {"dtype", "f32"}, {"shape", "n=1024"}}) == doctest::Approx(1e-5));
  CHECK(told.value("hone_default_time_seconds", {{"kernel", "copy"}, {"dtype", "f32"}, {"shape", "n=1024"}}) == doctest::Approx(2e-5));
  CHECK(told.value("hone_device_sm_clock_hertz", {{"device", "gpu:0"}}) == 1.98e9);
  CHECK(told.value("hone_device_memory_clock_hertz", {{"device", "gpu:0"}}) == 3.201e9);
  CHECK(told.value("hone_device_temperature_celsius", {{"device", "gpu:0"}}) == 61.0);
  CHECK(told.value("hone_device_power_watts", {{"device", "gpu:0"}}) == 650.0);
  CHECK(told.value("hone_device_throttled", {{"device", "gpu:0"}, {"reason", "power cap"}}) == 1.0);
  CHECK(told.value("hone_device_throttled", {{"device", "gpu:0"}, {"reason", "hardware slowdown"}}) == 0.0);
  CHECK(told.value("hone_device_discarded_samples_total", {{"device", "gpu:0"}}) == 5.0);
  // A device that tells nothing has no clock of 0.
  CHECK_FALSE(told.family("hone_device_sm_clock_hertz").samples.contains({{"device", "gpu:1"}}));
  CHECK(told.value("hone_device_info", {{"device", "gpu:0"}, {"product", "GPU \"X\""}, {"uuid", "GPU-1"}}) == 1.0);
}

TEST_CASE("the devices' idle share is what they had no trial in, from the first trial's beginning to the latest's end") {
  Happening session;
  session.trial("gpu:0", Outcome::kOk, 2.0, 10);  // it began at 8
  session.trial("gpu:1", Outcome::kOk, 3.0, 12);
  const Exposition told = session.told(100);
  CHECK(told.value("hone_devices_busy_seconds_total") == 3.0);
  CHECK(told.value("hone_devices_idle_ratio") == doctest::Approx(1.0 - 3.0 / (4.0 * 2.0)));
  SUBCASE("processes that began anew begin at 0") {
    session.trial("gpu:1", Outcome::kOk, 0.5, 13);
    CHECK(session.told().value("hone_devices_busy_seconds_total") == 3.5);
  }
}

TEST_CASE("a session's queue is there while it runs") {
  Happening session;
  session.metrics.take(session.event(SessionEvent::Step::kBegan), session.start);
  CHECK(session.told().value("hone_queue_configurations", {{"stage", "compiling"}}) == 3.0);
  CHECK(session.told().value("hone_sessions_running") == 1.0);
  session.metrics.take(session.event(SessionEvent::Step::kEnded), session.start);
  CHECK(session.told().value("hone_queue_configurations", {{"stage", "compiling"}}) == 0.0);
  CHECK(session.told().value("hone_sessions_running") == 0.0);
  CHECK(session.told().value("hone_sessions_ended_total") == 1.0);
  CHECK(session.told().value("hone_session_info",
                             {{"session", "7"}, {"kernel", "copy"}, {"dtype", "f32"}, {"shape", "n=1024"}, {"strategy", "auto"}}) == 1.0);
}

TEST_CASE("what is left of a budget goes on falling between trials, and not below 0") {
  Happening session;
  session.metrics.set_budget({.seconds = 60.0, .trials = 100});
  session.metrics.set_spent(20.0, 30, session.start);
  CHECK(session.told(5).value("hone_budget_left_seconds") == doctest::Approx(35.0));
  CHECK(session.told(5).value("hone_budget_left_trials") == 70.0);
  CHECK(session.told(500).value("hone_budget_left_seconds") == 0.0);
  session.metrics.set_state(RunState::kDone);
  CHECK(session.told(500).value("hone_budget_left_seconds") == doctest::Approx(40.0));
  CHECK(session.told().value("hone_run_state", {{"state", "done"}}) == 1.0);
  CHECK(session.told().value("hone_run_state", {{"state", "running"}}) == 0.0);
}

TEST_CASE("controls are counted, and a device that left is not active") {
  Happening session;
  session.control({.device = "gpu:1", .measurement = {}, .readings = {}, .factor = 0.95, .left = ""});
  CHECK(session.told().value("hone_device_controls_total", {{"device", "gpu:1"}}) == 1.0);
  CHECK(session.told().value("hone_device_factor_ratio", {{"device", "gpu:1"}}) == 0.95);
  CHECK(session.told().value("hone_device_active", {{"device", "gpu:1"}}) == 1.0);
  session.control({.device = "gpu:1", .measurement = {}, .readings = {}, .factor = 0.95, .left = "too slow"});
  CHECK(session.told().value("hone_device_controls_total", {{"device", "gpu:1"}}) == 1.0);
  CHECK(session.told().value("hone_device_active", {{"device", "gpu:1"}}) == 0.0);
  CHECK(session.told().value("hone_device_active", {{"device", "gpu:0"}}) == 1.0);
}

TEST_CASE("without any event there is what is known of the process") {
  const SessionMetrics metrics;
  const Exposition told(metrics.text(SessionMetrics::Clock::now(), 1.5e9));
  CHECK(told.value("hone_updated_timestamp_seconds") == 1.5e9);
  CHECK(told.value("hone_run_state", {{"state", "running"}}) == 1.0);
  CHECK_FALSE(told.has("hone_budget_left_seconds"));
  CHECK_FALSE(told.has("hone_devices_idle_ratio"));
}

}  // namespace hone::cli
