#include "cli/session_metrics.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "engine/report/session_study.hpp"

namespace hone::cli {
namespace {

constexpr double kPerSecond = 1e6, kMegahertz = 1e6;

double seconds_between(SessionMetrics::Clock::time_point from, SessionMetrics::Clock::time_point to) {
  return std::max(0.0, std::chrono::duration<double>(to - from).count());
}

double as_number(bool truth) { return truth ? 1.0 : 0.0; }

}  // namespace

void SessionMetrics::set_spent(double seconds, std::int64_t trials, Clock::time_point now) {
  spent_seconds_ = seconds;
  spent_trials_ = trials;
  spent_at_ = now;
}

void SessionMetrics::add_devices(const TuneRequest& request) {
  const auto add = [this](const DeviceInfo& info) {
    Device& device = devices_[info.id];
    device.product = info.product;
    device.uuid = info.uuid;
  };
  if (request.own_devices) {
    add(request.device.info);
  }
  std::ranges::for_each(request.more_devices, add);
}

void SessionMetrics::take(const SessionEvent& event, Clock::time_point now) {
  const TuneRequest& request = event.request;
  add_devices(request);
  Search& search = searches_[{request.spec.name, name(request.problem.dtype), hone::text(request.problem.shape)}];
  search = {event.session, request.strategy, event.default_us, event.best_us};
  Running& running = running_[event.session];
  running.pipeline = event.pipeline;
  // Of an operation whose kernels do not fit side by side, processes end and begin anew at 0.
  const double busy = event.busy_seconds - (event.busy_seconds < running.busy_seconds ? 0.0 : running.busy_seconds);
  running.busy_seconds = event.busy_seconds;
  if (busy > 0.0) {
    busy_since_ = busy_since_.value_or(now - std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(busy)));
    busy_until_ = now;
    busy_seconds_ += busy;
  }
  if (event.step == SessionEvent::Step::kTrial) {
    take_trial(event);
  } else if (event.step == SessionEvent::Step::kControl) {
    take_control(*event.control);
  } else if (event.step == SessionEvent::Step::kFinalist) {
    note(devices_[event.trial->final_device.empty() ? request.device.info.id : event.trial->final_device], event.trial->readings);
  } else if (event.step == SessionEvent::Step::kEnded || event.step == SessionEvent::Step::kPaused) {
    running_.erase(event.session);
    ended_ += event.step == SessionEvent::Step::kEnded ? 1 : 0;
  }
}

void SessionMetrics::take_trial(const SessionEvent& event) {
  const Trial& trial = *event.trial;
  ++outcomes_[trial.outcome];
  stages_.compile += trial.seconds.compile;
  stages_.validate += trial.seconds.validate;
  stages_.time += trial.seconds.time;
  stages_.overhead += trial.seconds.overhead;
  const bool several = !event.request.more_devices.empty() || event.request.workers;
  if (several && trial.device.empty()) {
    return;  // it came to no device
  }
  Device& device = devices_[several ? trial.device : event.request.device.info.id];
  device.product = event.request.device.info.product;  // of one that is attached, nothing told it yet
  ++device.trials;
  device.factor = trial.factor;
  note(device, trial.readings);
}

void SessionMetrics::take_control(const Control& control) {
  Device& device = devices_[control.device];
  device.factor = control.factor;
  device.active = control.left.empty();
  if (device.active) {
    ++device.controls;
    note(device, control.readings);
  }
}

void SessionMetrics::note(Device& device, const Readings& readings) {
  device.discarded_samples += readings.discarded_samples;
  if (readings.sm_clock_mhz > 0.0) {
    device.readings = readings;
  }
}

std::string SessionMetrics::text(Clock::time_point now, double unix_seconds) const {
  MetricsText out;
  write_run_state(out, state_, unix_seconds);
  write_run(out, now);
  write_trials(out);
  write_searches(out);
  write_devices(out);
  write_readings(out);
  return out.text();
}

void SessionMetrics::write_run(MetricsText& out, Clock::time_point now) const {
  out.family("hone_sessions_running", MetricKind::kGauge, "Sessions that are going on; of an operation, one for each kernel.");
  out.sample({}, static_cast<double>(running_.size()));
  out.family("hone_sessions_ended_total", MetricKind::kCounter, "Sessions that this run brought to their end.");
  out.sample({}, static_cast<double>(ended_));
  const double since = spent_at_ && state_ == RunState::kRunning ? seconds_between(*spent_at_, now) : 0.0;
  if (budget_.seconds) {
    out.family("hone_budget_seconds", MetricKind::kGauge, "What the run may take.");
    out.sample({}, *budget_.seconds);
    out.family("hone_budget_left_seconds", MetricKind::kGauge, "What is left of it, earlier runs of the session included.");
    out.sample({}, std::max(0.0, *budget_.seconds - spent_seconds_ - since));
  }
  if (budget_.trials) {
    out.family("hone_budget_trials", MetricKind::kGauge, "Trials that the run may make.");
    out.sample({}, static_cast<double>(*budget_.trials));
    out.family("hone_budget_left_trials", MetricKind::kGauge, "What is left of them, earlier runs of the session included.");
    out.sample({}, static_cast<double>(std::max<std::int64_t>(0, *budget_.trials - spent_trials_)));
  }
}

void SessionMetrics::write_trials(MetricsText& out) const {
  out.family("hone_trials_total", MetricKind::kCounter, "Trials by outcome.");
  for (const Outcome outcome : all_outcomes()) {
    const auto count = outcomes_.find(outcome);
    out.sample({{"outcome", name(outcome)}}, count == outcomes_.end() ? 0.0 : static_cast<double>(count->second));
  }
  out.family("hone_trial_stage_seconds_total", MetricKind::kCounter, "Seconds that trials cost, by stage; of compiling, a core's share.");
  out.sample({{"stage", "compile"}}, stages_.compile);
  out.sample({{"stage", "validate"}}, stages_.validate);
  out.sample({{"stage", "time"}}, stages_.time);
  out.sample({{"stage", "overhead"}}, stages_.overhead);
  Pipeline sum;
  for (const auto& [session, running] : running_) {
    sum.compiling += running.pipeline.compiling;
    sum.ready += running.pipeline.ready;
    sum.measuring += running.pipeline.measuring;
  }
  out.family("hone_queue_configurations", MetricKind::kGauge, "Configurations on their way, when the latest trial ended.");
  out.sample({{"stage", "compiling"}}, static_cast<double>(sum.compiling));
  out.sample({{"stage", "ready"}}, static_cast<double>(sum.ready));
  out.sample({{"stage", "measuring"}}, static_cast<double>(sum.measuring));
  if (busy_since_) {
    out.family("hone_devices_busy_seconds_total", MetricKind::kCounter,
               "Seconds in which devices had a trial or a control, over all devices.");
    out.sample({}, busy_seconds_);
    const double span = seconds_between(*busy_since_, *busy_until_) * static_cast<double>(devices_.size());
    out.family("hone_devices_idle_ratio", MetricKind::kGauge,
               "Share of the devices' time in which they had none, from the first trial to the latest.");
    out.sample({}, span > 0.0 ? std::clamp(1.0 - busy_seconds_ / span, 0.0, 1.0) : 0.0);
  }
}

void SessionMetrics::write_searches(MetricsText& out) const {
  out.family("hone_session_info", MetricKind::kGauge, "The latest session of each kernel and problem of this run.");
  for (const auto& [problem, search] : searches_) {
    const auto& [kernel, dtypes, shape] = problem;
    out.sample({{"session", std::to_string(search.session)},
                {"kernel", kernel},
                {"dtype", dtypes},
                {"shape", shape},
                {"strategy", search.strategy}},
               1.0);
  }
  const auto write = [&](std::string_view name, std::string_view help, std::optional<double> Search::*us) {
    out.family(name, MetricKind::kGauge, help);
    for (const auto& [problem, search] : searches_) {
      if (search.*us) {
        const auto& [kernel, dtypes, shape] = problem;
        out.sample({{"kernel", kernel}, {"dtype", dtypes}, {"shape", shape}}, *(search.*us) / kPerSecond);
      }
    }
  };
  write("hone_best_time_seconds", "The fastest right configuration so far; after the final round, its winner.", &Search::best_us);
  write("hone_default_time_seconds", "The default configuration, as its trial measured it.", &Search::default_us);
}

void SessionMetrics::write_devices(MetricsText& out) const {
  out.family("hone_device_info", MetricKind::kGauge, "The devices of this run.");
  for (const auto& [id, device] : devices_) {
    out.sample({{"device", id}, {"product", device.product}, {"uuid", device.uuid}}, 1.0);
  }
  const auto write = [&](std::string_view name, MetricKind kind, std::string_view help, auto value) {
    out.family(name, kind, help);
    for (const auto& [id, device] : devices_) {
      out.sample({{"device", id}}, static_cast<double>(value(device)));
    }
  };
  write("hone_device_active", MetricKind::kGauge, "Whether the device takes part: 0 once it has left a session.",
        [](const Device& device) { return device.active; });
  write("hone_device_trials_total", MetricKind::kCounter, "Trials that the device has measured.",
        [](const Device& device) { return device.trials; });
  write("hone_device_controls_total", MetricKind::kCounter, "Times that the device ran the control, the default configuration.",
        [](const Device& device) { return device.controls; });
  write("hone_device_factor_ratio", MetricKind::kGauge,
        "What times of the device are multiplied by, to compare them with those of the others.",
        [](const Device& device) { return device.factor; });
  write("hone_device_discarded_samples_total", MetricKind::kCounter, "Throttled samples that were thrown away.",
        [](const Device& device) { return device.discarded_samples; });
}

void SessionMetrics::write_readings(MetricsText& out) const {
  const auto write = [&](std::string_view name, std::string_view help, double Readings::*value, double unit) {
    out.family(name, MetricKind::kGauge, help);
    for (const auto& [id, device] : devices_) {
      if (device.readings.*value > 0.0) {
        out.sample({{"device", id}}, device.readings.*value * unit);
      }
    }
  };
  write("hone_device_sm_clock_hertz", "At the latest trial, as are temperature, power and throttling.", &Readings::sm_clock_mhz,
        kMegahertz);
  write("hone_device_memory_clock_hertz", "Clock of the device's memory.", &Readings::memory_clock_mhz, kMegahertz);
  write("hone_device_temperature_celsius", "Temperature of the device.", &Readings::temperature_c, 1.0);
  write("hone_device_power_watts", "What the device draws.", &Readings::power_w, 1.0);
  out.family("hone_device_throttled", MetricKind::kGauge, "Whether the device was slowed down, by reason.");
  for (const auto& [id, device] : devices_) {
    if (device.readings.sm_clock_mhz > 0.0) {
      const std::vector<std::string> now = report::throttle_words(device.readings.throttle_reasons);
      for (const std::string& reason : report::throttle_words(~std::uint64_t{0})) {
        out.sample({{"device", id}, {"reason", reason}}, as_number(std::ranges::find(now, reason) != now.end()));
      }
    }
  }
}

}  // namespace hone::cli
