#include "engine/tune/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "engine/base/names.hpp"
#include "engine/tune/evaluator.hpp"

namespace hone {
namespace {

namespace fs = std::filesystem;

/// The files that a sanitizer writes its findings to, and what was already read of them.
class FindingLogs {
 public:
  static Result<FindingLogs> create() {
    std::string path = (fs::temp_directory_path() / "hone-check-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) {
      return Error{ErrorCode::kIo,
                   fmt::format("cannot make a directory in {} for the sanitizers' logs", fs::temp_directory_path().string())};
    }
    return FindingLogs(path);
  }
  FindingLogs(FindingLogs&& other) noexcept : directory_(std::move(other.directory_)), read_(std::move(other.read_)) {
    other.directory_.clear();
  }
  FindingLogs& operator=(FindingLogs&&) = delete;
  ~FindingLogs() {
    std::error_code ignored;
    if (!directory_.empty()) {
      fs::remove_all(directory_, ignored);
    }
  }

  [[nodiscard]] fs::path prefix() const { return directory_ / "log"; }

  /// What was written since it was asked last; of several files the oldest alone, since the next trial may have begun.
  std::string news() {
    std::vector<std::pair<fs::file_time_type, fs::path>> files;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(directory_, ignored)) {
      files.emplace_back(entry.last_write_time(ignored), entry.path());
    }
    std::ranges::sort(files);
    for (const auto& [when, path] : files) {
      std::ifstream file(path, std::ios::binary);
      std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
      std::size_t& known = read_[path.string()];
      if (text.size() > known) {
        text.erase(0, std::exchange(known, text.size()));
        return text;
      }
    }
    return "";
  }

 private:
  explicit FindingLogs(fs::path directory) : directory_(std::move(directory)) {}

  fs::path directory_;
  std::map<std::string, std::size_t> read_;
};

/// Samples enough for all ways of timing to be gone; the times are not looked at.
MeasureSettings gate_settings() {
  return {.warmup_runs = 1, .race_samples = 3, .minimum_samples = 3, .maximum_samples = 5, .maximum_seconds = 0.05};
}

MeasureSettings watched_settings() {
  return {.warmup_runs = 0,
          .race_samples = 1,
          .minimum_samples = 1,
          .maximum_samples = 1,
          .maximum_seconds = 0.0,
          .flush_cache = false,
          .graph_below_us = 0.0};
}

/// Whether a kernel alone can be why an evaluator ends with this.
bool about_kernel(ErrorCode code) {
  return code == ErrorCode::kBadKernel || code == ErrorCode::kDevice || code == ErrorCode::kCompile || code == ErrorCode::kTimeout;
}

class Check {
 public:
  explicit Check(const CheckRequest& request) : request_(request) {}

  Result<CheckReport> run() {
    HONE_ASSIGN(const std::vector<std::string> sanitizers, wanted_sanitizers());
    for (const Problem& problem : request_.problems) {
      std::vector<std::string> without;
      HONE_ASSIGN(const std::vector<Configuration> sample,
                  check_sample(request_.spec, problem, request_.device.info, request_.configurations, request_.seed, without));
      for (const std::string& value : without) {
        report_.without_configuration.push_back(fmt::format("{} ({} {})", value, name(problem.dtype), text(problem.shape)));
      }
      HONE_TRY(run_gate(problem, sample));
      for (const std::string& sanitizer : sanitizers) {
        HONE_TRY(run_sanitizer(problem, sample, sanitizer));
      }
    }
    return std::move(report_);
  }

 private:
  [[nodiscard]] Result<std::vector<std::string>> wanted_sanitizers() const {
    const std::vector<std::string> known = request_.device.plugin->sanitizers();
    for (const std::string& wanted : request_.sanitizers) {
      if (std::ranges::find(known, wanted) == known.end()) {
        return Error{ErrorCode::kInvalidArgument, known.empty() ? fmt::format("{} has no sanitizers", request_.device.info.id)
                                                                : unknown_name("sanitizer", wanted, known)};
      }
    }
    return request_.sanitizers.empty() && !known.empty() ? std::vector<std::string>{known.front()} : request_.sanitizers;
  }

  [[nodiscard]] TuneRequest trial_request(const Problem& problem, const MeasureSettings& measure) const {
    TuneRequest request;
    request.measure = measure;
    request.measure.given = request_.given;
    request.spec = request_.spec;
    request.problem = problem;
    request.device = request_.device;
    request.seed = request_.seed;
    request.stop = request_.stop;
    return request;
  }

  void say(const std::string& what, const Problem& problem, std::size_t configurations) const {
    if (request_.on_progress) {
      request_.on_progress(fmt::format("{}: {} configurations of {} {}", what, configurations, name(problem.dtype), text(problem.shape)));
    }
  }

  /// In the order of the sample, whichever was compiled first.
  void add(const Problem& problem, const std::string& sanitizer, std::vector<Trial> trials) {
    std::ranges::sort(trials, {}, &Trial::position);
    for (Trial& trial : trials) {
      report_.checked.push_back(
          {problem, sanitizer, std::move(trial.configuration), trial.outcome, std::move(trial.detail), trial.max_error});
    }
  }

  Result<void> run_gate(const Problem& problem, const std::vector<Configuration>& sample) {
    say("checking", problem, sample.size());
    const TuneRequest request = trial_request(problem, gate_settings());
    std::vector<Trial> trials;
    const Result<void> done = evaluate(request, sample, sample.size(), [&](Trial trial) { trials.push_back(std::move(trial)); });
    const bool failing = !done && about_kernel(done.error().code);
    if (failing) {
      trials.push_back(failed(sample.front(), done.error()));
    }
    add(problem, "", std::move(trials));
    return failing ? Result<void>() : done;
  }

  Result<void> run_sanitizer(const Problem& problem, const std::vector<Configuration>& sample, const std::string& wanted) {
    HONE_ASSIGN(FindingLogs logs, FindingLogs::create());
    const DevicePlugin& plugin = *request_.device.plugin;
    Result<Sanitizer> sanitizer = plugin.sanitizer(request_.device.info, wanted, logs.prefix());
    if (!sanitizer) {
      report_.not_run.push_back({problem, wanted, sanitizer.error().message});
      return {};
    }
    say("checking under " + wanted, problem, sample.size());
    TuneRequest request = trial_request(problem, watched_settings());
    request.device.info = sanitizer->device;
    request.sanitizer = std::move(*sanitizer);
    std::vector<Trial> trials;
    // The log does not tell whose finding it holds: one configuration goes at a time.
    Result<void> done = evaluate(request, sample, 1, [&](Trial trial) {
      explain(trial, problem, plugin.finding(logs.news()));
      trials.push_back(std::move(trial));
    });
    add(problem, wanted, std::move(trials));
    if (!done && done.error().code == ErrorCode::kCancelled) {
      return done;
    }
    if (!done) {
      const std::string said = logs.news();
      if (const std::string finding = plugin.finding(said); !finding.empty()) {
        Trial trial;
        trial.configuration = sample.front();
        trial.outcome = Outcome::kIllegalAccess;
        trial.detail = "before any configuration ran, in the reference or a generator: " + finding;
        add(problem, wanted, {std::move(trial)});
        return {};
      }
      report_.not_run.push_back({problem, wanted, done.error().message + (said.empty() ? "" : "; it says: " + said)});
    }
    return {};
  }

  /// The sanitizer's line in place of how the worker ended, and on which problem.
  static void explain(Trial& trial, const Problem& problem, const std::string& finding) {
    if (finding.empty()) {
      return;
    }
    const std::size_t small = trial.detail.find("on the small problem ");
    const std::string where = small == std::string::npos ? fmt::format("on {}", text(problem.shape))
                                                         : trial.detail.substr(small, trial.detail.find(": ", small) - small);
    trial.detail = fmt::format("{} ({})", finding, where);
    const bool race = finding.find("Race") != std::string::npos;
    trial.outcome = race ? Outcome::kRace : Outcome::kIllegalAccess;
  }

  static Trial failed(const Configuration& configuration, const Error& error) {
    Trial trial;
    trial.configuration = configuration;
    trial.outcome = error.code == ErrorCode::kTimeout   ? Outcome::kTimeout
                    : error.code == ErrorCode::kCompile ? Outcome::kCompileError
                    : error.code == ErrorCode::kDevice  ? Outcome::kIllegalAccess
                                                        : Outcome::kLaunchFailure;
    trial.detail = error.message;
    return trial;
  }

  template <class Take>
  Result<void> evaluate(const TuneRequest& request, const std::vector<Configuration>& sample, std::size_t at_once, const Take& take) {
    HONE_ASSIGN(const auto evaluator, make_live_evaluator(request, nullptr));
    std::size_t submitted = 0, finished = 0;
    while (finished < sample.size()) {
      if (submitted == finished) {
        std::vector<Proposal> proposals;
        for (; submitted < sample.size() && proposals.size() < at_once; ++submitted) {
          proposals.push_back({submitted, sample[submitted]});
        }
        evaluator->submit(std::move(proposals));
      }
      HONE_ASSIGN(std::vector<Trial> trials, evaluator->wait(std::numeric_limits<double>::infinity()));
      finished += trials.size();
      for (Trial& trial : trials) {
        take(std::move(trial));
      }
    }
    for (const std::string& note : request.sanitizer ? std::vector<std::string>() : evaluator->notes()) {  // it would say them once more
      report_.notes.push_back(fmt::format("{} {}: {}", name(request.problem.dtype), text(request.problem.shape), note));
    }
    return {};
  }

  const CheckRequest& request_;
  CheckReport report_;
};

}  // namespace

std::size_t CheckReport::wrong() const {
  return static_cast<std::size_t>(std::ranges::count_if(checked, [](const Checked& one) { return one.wrong(); }));
}

Result<CheckReport> check(const CheckRequest& request) { return Check(request).run(); }

}  // namespace hone
