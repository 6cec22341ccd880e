#pragma once
// What operators watch of a run: counted from its sessions' events, told as metrics (docs/fleet.md lists them).

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "cli/metrics_text.hpp"
#include "cli/run_state.hpp"
#include "engine/tune/session.hpp"
#include "engine/tune/session_event.hpp"

namespace hone::cli {

/// The counters are of this process: they begin at 0 in a session that goes on, as Prometheus expects of a restart. Times are told from
/// outside, so that nothing here waits or asks a clock.
class SessionMetrics {
 public:
  using Clock = std::chrono::steady_clock;

  void take(const SessionEvent& event, Clock::time_point now);
  /// What the run may cost, and how much of it is spent, earlier runs of its sessions included.
  void set_budget(const Budget& budget) { budget_ = budget; }
  void set_spent(double seconds, std::int64_t trials, Clock::time_point now);
  void set_state(RunState state) {
    state_ = state;
    if (state != RunState::kRunning) {
      running_.clear();  // a session that ends in an error says nothing of it
    }
  }

  /// As of `now`; `unix_seconds` is the same moment for people's clocks.
  [[nodiscard]] std::string text(Clock::time_point now, double unix_seconds) const;

 private:
  /// Kernel, dtypes, shape.
  using Problems = std::tuple<std::string, std::string, std::string>;
  struct Search {
    std::int64_t session = 0;
    std::string strategy;
    std::optional<double> default_us, best_us;
  };
  struct Device {
    std::string product, uuid;
    std::int64_t trials = 0, controls = 0, discarded_samples = 0;
    double factor = 1.0;
    bool active = true;
    Readings readings;  ///< the latest
  };
  /// A session that is going on.
  struct Running {
    Pipeline pipeline;
    double busy_seconds = 0.0;
  };

  void take_trial(const SessionEvent& event);
  void take_control(const Control& control);
  void note(Device& device, const Readings& readings);
  void add_devices(const TuneRequest& request);
  void write_run(MetricsText& out, Clock::time_point now) const;
  void write_trials(MetricsText& out) const;
  void write_searches(MetricsText& out) const;
  void write_devices(MetricsText& out) const;
  void write_readings(MetricsText& out) const;

  Budget budget_;
  RunState state_ = RunState::kRunning;
  double spent_seconds_ = 0.0;
  std::int64_t spent_trials_ = 0;
  std::optional<Clock::time_point> spent_at_;
  std::map<Outcome, std::int64_t> outcomes_;
  StageSeconds stages_;
  std::int64_t ended_ = 0;
  double busy_seconds_ = 0.0;
  std::optional<Clock::time_point> busy_since_, busy_until_;  ///< from the beginning of the first trial to the end of the latest
  std::map<std::int64_t, Running> running_;                   ///< by session
  std::map<Problems, Search> searches_;
  std::map<std::string, Device> devices_;  ///< by id
};

}  // namespace hone::cli
