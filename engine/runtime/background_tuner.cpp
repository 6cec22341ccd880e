#include "engine/runtime/background_tuner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>

#include "hone/session.hpp"

namespace hone {
namespace {

/// How long to look away from a problem that another process is tuning.
constexpr std::chrono::seconds kElsewherePause{1};

}  // namespace

BackgroundTuner::BackgroundTuner(MissTuning settings, Registry::Found device, std::unique_ptr<Store> store, Tuned tuned)
    : settings_(std::move(settings)),
      device_(std::move(device)),
      store_(std::move(store)),
      tuned_(std::move(tuned)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void BackgroundTuner::want(const std::string& key, const KernelSpec& spec, const Problem& problem) {
  const std::lock_guard lock(mutex_);
  if (settled_.contains(key)) {
    return;
  }
  const auto known = std::ranges::find(waiting_, key, &Wanted::key);
  if (known != waiting_.end()) {
    ++known->times;
    return;
  }
  waiting_.push_back({key, &spec, problem});
  changed_.notify_all();
}

MissReport BackgroundTuner::report() const {
  const std::lock_guard lock(mutex_);
  MissReport report = report_;
  report.waiting = waiting_.size();
  return report;
}

void BackgroundTuner::run(const std::stop_token& stop) {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
      return;
    }
    const Wanted next = most_wanted();
    lock.unlock();
    const Result<End> end = guarded(next, stop);
    if (stop.stop_requested()) {
      return;
    }
    settle(next, end);
    if (end && *end == End::kElsewhere) {
      lock.lock();
      changed_.wait_for(lock, stop, kElsewherePause, [] { return false; });
    }
  }
}

BackgroundTuner::Wanted BackgroundTuner::most_wanted() const { return *std::ranges::max_element(waiting_, {}, &Wanted::times); }

/// An exception that left this thread would end the application.
Result<BackgroundTuner::End> BackgroundTuner::guarded(const Wanted& wanted, const std::stop_token& stop) {
  try {
    return tune_one(wanted, stop);
  } catch (const std::exception& broken) {
    return Error{ErrorCode::kPlugin, broken.what()};
  }
}

Result<BackgroundTuner::End> BackgroundTuner::tune_one(const Wanted& wanted, const std::stop_token& stop) {
  HONE_ASSIGN(const auto record, store_->find_record(record_key(*wanted.spec, wanted.problem, device_.info), wanted.spec->parameters));
  if (record) {
    return End::kTuned;  // by another process, since it was missed
  }
  HONE_ASSIGN(const bool elsewhere, is_tuned_elsewhere(wanted));
  if (elsewhere) {
    return End::kElsewhere;
  }
  TuneRequest request;
  request.spec = *wanted.spec;
  request.problem = wanted.problem;
  request.device = device_;
  request.budget = settings_.budget;
  request.compile_workers = settings_.compile_workers;
  request.stop = stop;
  HONE_ASSIGN(const TuneReport report, tune(request, *store_, builtin_registry()));
  if (!report.best) {
    return Error{ErrorCode::kBadKernel, "no configuration was right; the first failure: " + report.first_failure};
  }
  return End::kTuned;
}

Result<bool> BackgroundTuner::is_tuned_elsewhere(const Wanted& wanted) {
  HONE_ASSIGN(const std::vector<SessionInfo> sessions, store_->sessions());
  return std::ranges::any_of(sessions, [&](const SessionInfo& session) {
    return session.owner_alive && session.source_hash == wanted.spec->source_hash && session.problem == wanted.problem &&
           session.product == device_.info.product;
  });
}

void BackgroundTuner::settle(const Wanted& wanted, const Result<End>& end) {
  if (end && *end == End::kTuned) {
    tuned_(wanted.key);
  }
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(waiting_, wanted.key, &Wanted::key);
  if (end && *end == End::kElsewhere) {
    at->times = 0;  // others come first
    return;
  }
  waiting_.erase(at);
  settled_.insert(wanted.key);
  if (end) {
    ++report_.tuned;
  } else {
    report_.failures.push_back(fmt::format("{}: {}", wanted.key, end.error().message));
  }
}

}  // namespace hone
