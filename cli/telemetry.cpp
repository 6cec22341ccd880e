#include "cli/telemetry.hpp"

#include <fmt/format.h>

#include <chrono>

#include "cli/embedding.hpp"
#include "hone/version.h"

namespace hone::cli {
namespace {

constexpr auto kWriteEvery = std::chrono::seconds(5);
constexpr auto kScrapePatience = std::chrono::seconds(5);
constexpr int kInterrupted = 130;  // the exit code

double unix_seconds() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

std::optional<std::string> given(const cxxopts::ParseResult& arguments, const std::string& option) {
  return arguments.count(option) > 0 ? std::optional(arguments[option].as<std::string>()) : std::nullopt;
}

}  // namespace

void add_log_option(cxxopts::Options& options) {
  options.add_options()("log", "a file to which what happens is added, a line of JSON each", cxxopts::value<std::string>(), "FILE");
}

void add_metrics_option(cxxopts::Options& options) {
  options.add_options()(
      "metrics", "metrics for Prometheus: a file that is rewritten every five seconds, or an address to scrape, http://HOST:PORT/metrics",
      cxxopts::value<std::string>(), "FILE|HOST:PORT");
}

Result<std::unique_ptr<Telemetry>> Telemetry::open(const cxxopts::ParseResult& arguments, const std::string& verb) {
  std::unique_ptr<Telemetry> made(new Telemetry);
  if (const std::optional<std::string> file = given(arguments, "log")) {
    HONE_ASSIGN(made->log_, EventLog::open(*file, verb));
  }
  const std::optional<std::string> metrics = given(arguments, "metrics");
  if (!metrics) {
    return made;
  }
  made->counts_ = true;
  made->serves_ = verb == "serve-trials";
  const auto produce = [telemetry = made.get()] { return telemetry->text(); };
  if (const std::optional<MetricsAddress> address = parse_metrics_address(*metrics)) {
    HONE_ASSIGN(made->endpoint_, MetricsEndpoint::start(*address, kScrapePatience, produce));
    if (current_embedding() == nullptr) {
      fmt::print(stderr, "metrics at {}\n", made->endpoint_->url());
    }
    made->log(LogLevel::kInfo, "metrics", {{"url", made->endpoint_->url()}});
  } else {
    HONE_ASSIGN(made->file_, MetricsFile::start(*metrics, kWriteEvery, produce));
  }
  return made;
}

std::function<void(const SessionEvent&)> Telemetry::on_event() {
  if (!log_ && !counts_) {
    return {};
  }
  return [this](const SessionEvent& event) {
    if (counts_) {
      const std::lock_guard lock(mutex_);
      metrics_.take(event, SessionMetrics::Clock::now());
    }
    if (log_) {
      log_->write(event);
    }
  };
}

void Telemetry::take(const ServeEvent& event) {
  if (counts_) {
    const std::lock_guard lock(mutex_);
    worker_metrics_.take(event);
  }
  if (log_) {
    log_->write(event);
  }
}

void Telemetry::set_budget(const Budget& budget) {
  const std::lock_guard lock(mutex_);
  metrics_.set_budget(budget);
}

void Telemetry::set_spent(double seconds, std::int64_t trials) {
  const std::lock_guard lock(mutex_);
  metrics_.set_spent(seconds, trials, SessionMetrics::Clock::now());
}

void Telemetry::log(LogLevel level, std::string_view event, const Json& fields) {
  if (log_) {
    log_->write(level, event, fields);
  }
}

std::string Telemetry::text() const {
  const std::lock_guard lock(mutex_);
  if (serves_) {
    MetricsText out;
    write_run_state(out, state_, unix_seconds());
    worker_metrics_.write(out);
    return out.text();
  }
  return metrics_.text(SessionMetrics::Clock::now(), unix_seconds());
}

void Telemetry::end(Result<Output>& output) {
  const bool interrupted = output ? output->exit_code == kInterrupted : output.error().code == ErrorCode::kCancelled;
  {
    const std::lock_guard lock(mutex_);
    state_ = interrupted ? RunState::kInterrupted : output ? RunState::kDone : RunState::kFailed;
    metrics_.set_state(state_);
  }
  if (interrupted) {
    log(LogLevel::kWarning, "run_interrupted", output ? Json::object() : Json{{"detail", output.error().message}});
  } else if (output) {
    log(LogLevel::kInfo, "run_ended", {{"exit_code", output->exit_code}});
  } else {
    log(LogLevel::kError, "run_failed", {{"detail", output.error().message}});
  }
  std::vector<std::string> troubles;
  if (const std::optional<std::string> trouble = log_ ? log_->trouble() : std::nullopt) {
    troubles.push_back(*trouble);
  }
  if (const Result<void> written = file_ ? file_->finish() : Result<void>(); !written) {
    troubles.push_back(written.error().message);
  }
  if (output && (log_ || counts_)) {
    output->json["not_written"] = troubles;
  }
  for (const std::string& trouble : troubles) {
    if (output) {
      output->text += fmt::format("note     {}\n", trouble);
    }
  }
}

Result<Output> run_watched(const cxxopts::ParseResult& arguments, const std::string& verb,
                           const std::function<Result<Output>(Telemetry&)>& body) {
  HONE_ASSIGN(const std::unique_ptr<Telemetry> telemetry, Telemetry::open(arguments, verb));
  telemetry->log(LogLevel::kInfo, "run_began", {{"version", HONE_VERSION}});
  Result<Output> output = body(*telemetry);
  telemetry->end(output);
  return output;
}

}  // namespace hone::cli
