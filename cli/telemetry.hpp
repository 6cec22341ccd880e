#pragma once
// --metrics and --log: what a verb tells operators while it runs.

#include <cxxopts.hpp>
#include <functional>
#include <memory>
#include <mutex>

#include "cli/event_log.hpp"
#include "cli/metrics_endpoint.hpp"
#include "cli/metrics_file.hpp"
#include "cli/run_verb.hpp"
#include "cli/session_metrics.hpp"
#include "cli/worker_metrics.hpp"

namespace hone::cli {

void add_log_option(cxxopts::Options& options);
void add_metrics_option(cxxopts::Options& options);

/// Nothing happens, and nothing is counted, where neither option was given. Sessions tell it one thing at a time; readers have threads of
/// their own.
class Telemetry {
 public:
  /// Errors: a file that cannot be written, an address that cannot be listened on.
  static Result<std::unique_ptr<Telemetry>> open(const cxxopts::ParseResult& arguments, const std::string& verb);

  /// For TuneRequest::on_event; empty where nobody watches.
  [[nodiscard]] std::function<void(const SessionEvent&)> on_event();
  /// For a worker of others' sessions.
  void take(const ServeEvent& event);
  /// What the run may cost.
  void set_budget(const Budget& budget);
  /// What it has spent by now, earlier runs of its sessions included.
  void set_spent(double seconds, std::int64_t trials);
  void log(LogLevel level, std::string_view event, const Json& fields = Json::object());
  /// The verb is over. Into its output: what could not be written.
  void end(Result<Output>& output);

 private:
  Telemetry() = default;
  [[nodiscard]] std::string text() const;

  std::unique_ptr<EventLog> log_;
  mutable std::mutex mutex_;  ///< of the metrics
  SessionMetrics metrics_;
  WorkerMetrics worker_metrics_;
  RunState state_ = RunState::kRunning;
  bool serves_ = false;  ///< others' sessions
  bool counts_ = false;
  std::unique_ptr<MetricsFile> file_;  ///< these end before what they tell
  std::unique_ptr<MetricsEndpoint> endpoint_;
};

/// Runs the body of a verb with what its options ask for.
Result<Output> run_watched(const cxxopts::ParseResult& arguments, const std::string& verb,
                           const std::function<Result<Output>(Telemetry&)>& body);

}  // namespace hone::cli
