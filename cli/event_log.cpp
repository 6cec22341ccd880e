#include "cli/event_log.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

#include "cli/output.hpp"
#include "cli/present.hpp"
#include "engine/tune/session.hpp"

namespace hone::cli {
namespace {

std::string time_text(std::chrono::system_clock::time_point now) {
  const auto whole = std::chrono::floor<std::chrono::milliseconds>(now);
  const auto milliseconds = whole.time_since_epoch().count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)), milliseconds);
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string_view name(LogLevel level) { return level == LogLevel::kInfo ? "info" : level == LogLevel::kWarning ? "warning" : "error"; }

/// A text without bytes that JSON cannot hold.
std::string line_of(const Json& fields) { return fields.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json microseconds(const std::optional<double>& us) { return us ? Json(*us) : Json(); }

/// What every event of a session tells.
Json fields_of(const SessionEvent& event) {
  const TuneRequest& request = event.request;
  return {{"session", event.session},
          {"kernel", request.spec.name},
          {"dtype", hone::name(request.problem.dtype)},
          {"shape", json(request.problem.shape)},
          {"device", device_ids(request)},
          {"elapsed_seconds", event.elapsed_seconds}};
}

void add_trial(const SessionEvent& event, Json& fields) {
  const Trial& trial = *event.trial;
  const bool of_one = event.request.more_devices.empty() && !event.request.workers;
  const std::string& device = event.step == SessionEvent::Step::kTrial ? trial.device : trial.final_device;
  fields["device"] = !device.empty() ? Json(device) : of_one ? Json(event.request.device.info.id) : Json();
  fields["position"] = json(trial.position);
  fields["config"] = json(event.request.spec.parameters, trial.configuration);
  fields["outcome"] = hone::name(trial.outcome);
  fields["detail"] = trial.detail;
  fields["time_us"] = has_time(trial.outcome) ? Json(trial.measurement.median_us) : Json();
}

void add_stages(const Trial& trial, Json& fields) {
  fields["stages"] = {{"compile", trial.seconds.compile},
                      {"validate", trial.seconds.validate},
                      {"time", trial.seconds.time},
                      {"overhead", trial.seconds.overhead}};
}

void add_readings(const Readings& readings, Json& fields) {
  if (readings.sm_clock_mhz > 0.0) {
    fields["device_state"] = {{"sm_clock_mhz", readings.sm_clock_mhz},         {"memory_clock_mhz", readings.memory_clock_mhz},
                              {"temperature_c", readings.temperature_c},       {"power_w", readings.power_w},
                              {"throttle_reasons", readings.throttle_reasons}, {"discarded_samples", readings.discarded_samples}};
  }
}

}  // namespace

Result<std::unique_ptr<EventLog>> EventLog::open(const std::filesystem::path& file, std::string verb) {
  constexpr mode_t kMode = 0666;
  if (const Result<void> fine = check_target(file); !fine) {
    return Error{fine.error().code, fmt::format("--log: {}", fine.error().message)};
  }
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, kMode);
  if (descriptor < 0) {
    return Error{ErrorCode::kIo, fmt::format("--log {}: it cannot be written: {}", file.string(), std::strerror(errno))};
  }
  return std::unique_ptr<EventLog>(new EventLog(descriptor, file, std::move(verb)));
}

EventLog::EventLog(int descriptor, std::filesystem::path file, std::string verb)
    : descriptor_(descriptor), file_(std::move(file)), verb_(std::move(verb)), host_(host_name()) {}

EventLog::~EventLog() { ::close(descriptor_); }

void EventLog::write(LogLevel level, std::string_view event, const Json& fields) {
  Json line{{"time", time_text(std::chrono::system_clock::now())},
            {"level", name(level)},
            {"event", event},
            {"verb", verb_},
            {"host", host_},
            {"process", ::getpid()}};
  line.update(fields);
  const std::string text = line_of(line);
  const std::lock_guard lock(mutex_);
  ssize_t written = 0;
  do {
    written = ::write(descriptor_, text.data(), text.size());
  } while (written < 0 && errno == EINTR);
  if (written != static_cast<ssize_t>(text.size()) && lost_++ == 0) {
    why_ = written < 0 ? std::strerror(errno) : "no space for a whole line";
  }
}

void EventLog::write(const SessionEvent& event) {
  Json fields = fields_of(event);
  switch (event.step) {
    case SessionEvent::Step::kBegan:
      fields["strategy"] = event.request.strategy;
      fields["seed"] = event.request.seed;
      fields["resumed_trials"] = event.resumed_trials;
      return write(LogLevel::kInfo, "session_began", fields);
    case SessionEvent::Step::kTrial:
    case SessionEvent::Step::kFinalist: {
      const bool is_trial = event.step == SessionEvent::Step::kTrial;
      add_trial(event, fields);
      if (is_trial) {
        add_stages(*event.trial, fields);
        fields["best_us"] = microseconds(event.best_us);
      }
      add_readings(event.trial->readings, fields);
      return write(is_failure(event.trial->outcome) ? LogLevel::kWarning : LogLevel::kInfo, is_trial ? "trial" : "finalist", fields);
    }
    case SessionEvent::Step::kControl: {
      const Control& control = *event.control;
      const bool left = !control.left.empty();
      fields["device"] = control.device;
      fields["factor"] = control.factor;
      if (left) {
        fields["reason"] = control.left;
      } else {
        fields["time_us"] = control.measurement.median_us;
        add_readings(control.readings, fields);
      }
      return write(left ? LogLevel::kWarning : LogLevel::kInfo, left ? "device_left" : "control", fields);
    }
    case SessionEvent::Step::kFinalRound:
      return write(LogLevel::kInfo, "final_round", fields);
    case SessionEvent::Step::kEnded:
    case SessionEvent::Step::kPaused:
      fields["best_us"] = microseconds(event.best_us);
      fields["default_us"] = microseconds(event.default_us);
      if (event.trial != nullptr) {
        fields["position"] = json(event.trial->position);
        fields["config"] = json(event.request.spec.parameters, event.trial->configuration);
      }
      return write(LogLevel::kInfo, event.step == SessionEvent::Step::kEnded ? "session_ended" : "session_paused", fields);
  }
}

void EventLog::write(const ServeEvent& event) {
  using What = ServeEvent::What;
  const bool warns = event.what == What::kLost || event.what == What::kTrouble;
  Json fields{{"worker", event.worker}};
  if (!event.configuration.empty()) {
    fields["configuration"] = event.configuration;
  }
  if (!event.outcome.empty()) {
    fields["outcome"] = event.outcome;
  }
  if (event.seconds > 0.0) {
    fields["seconds"] = event.seconds;
  }
  fields["detail"] = event.detail;
  write(warns ? LogLevel::kWarning : LogLevel::kInfo, fmt::format("worker_{}", name(event.what)), fields);
}

std::optional<std::string> EventLog::trouble() const {
  const std::lock_guard lock(mutex_);
  return lost_ > 0 ? std::optional(fmt::format("--log {}: {} lines could not be written: {}", file_.string(), lost_, why_)) : std::nullopt;
}

}  // namespace hone::cli
