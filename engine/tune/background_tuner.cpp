#include "engine/tune/background_tuner.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>

#include "engine/device/device_key.hpp"
#include "engine/store/library_lookup.hpp"
#include "engine/tune/operation_session.hpp"
#include "engine/tune/participants.hpp"
#include "engine/worker/worker.hpp"

namespace hone {
namespace {

/// How long to look away from a problem that another process is tuning.
constexpr std::chrono::seconds kElsewherePause{1};

/// How long a session that found nothing right speaks for the next: a broken kernel stays broken until its source changes, but a device
/// without memory to spare or a compiler may be another one tomorrow.
constexpr std::chrono::hours kFailureMemory{24};

/// As in SessionInfo::updated_at, so that the texts compare as the times do.
std::string utc_before_now(std::chrono::seconds before) {
  const std::time_t then = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now() - before);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}", fmt::gmtime(then));
}

/// Whether the whole space was searched of late and nothing in it was right.
bool failed_lately(const SessionInfo& session) {
  return session.state == SessionState::kDone && !session.best_us && restriction_text(session).empty() &&
         likely_of(session) != Likely::kOnly && session.updated_at > utc_before_now(kFailureMemory);
}

}  // namespace

BackgroundTuner::BackgroundTuner(BackgroundRequest request, Registry::Found device, std::unique_ptr<Store> store)
    : request_(std::move(request)),
      device_(std::move(device)),
      store_(std::move(store)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Result<std::unique_ptr<Background>> start_background_tuner(BackgroundRequest request) {
  HONE_TRY(find_worker());
  const DeviceInfo& served = request.device.info;
  HONE_ASSIGN(Registry::Found device, builtin_registry().device(request.settings.device.empty() ? served.id : request.settings.device));
  if (const std::string different = difference(served, device.info); !different.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("background tuning on {} would make no record that {} can use ({}): give a device of the same product",
                             device.info.id, served.id, different)};
  }
  HONE_ASSIGN(std::unique_ptr<Store> store, open_store(request.store, StoreMode::kReadWrite, request.trust));
  return std::unique_ptr<Background>(std::make_unique<BackgroundTuner>(std::move(request), std::move(device), std::move(store)));
}

void BackgroundTuner::want(const std::string& key, std::shared_ptr<const Operation> operation, const Problem& problem) {
  const std::lock_guard lock(mutex_);
  if (finished_.contains(key)) {
    return;
  }
  const auto known = std::ranges::find(waiting_, key, &Wanted::key);
  if (known != waiting_.end()) {
    ++known->times;
    return;
  }
  waiting_.push_back({key, std::move(operation), problem});
  changed_.notify_all();
}

BackgroundReport BackgroundTuner::report() const {
  const std::lock_guard lock(mutex_);
  BackgroundReport report = report_;
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
    note_end(next, end);
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
  Libraries libraries(device_.plugin->libraries());
  const Result<OperationChoice> known =
      choose(*wanted.operation, wanted.problem, device_.info, store_.get(), libraries, {.purpose = purpose_within(request_.max_error)});
  if (known && known->compared) {
    return End::kTuned;  // by another process, since it was missed
  }
  HONE_ASSIGN(const std::vector<SessionInfo> sessions, sessions_of(wanted));
  if (std::ranges::any_of(sessions, &SessionInfo::owner_alive)) {
    return End::kElsewhere;
  }
  const auto failed = std::ranges::find_if(sessions, failed_lately);
  if (failed != sessions.end() && wanted.operation->implementations.size() == 1) {
    return Error{ErrorCode::kBadKernel,
                 fmt::format("session {} found no configuration right, less than a day ago: hone sessions {} says why, and hone tune tries "
                             "again at once",
                             failed->id, failed->id)};
  }
  TuneRequest request;
  request.device = device_;
  request.budget = request_.settings.budget;
  request.compile_workers = request_.settings.compile_workers;
  request.measure.max_error = request_.max_error;
  request.stop = stop;
  return wanted.operation->implementations.size() == 1 ? tune_kernel(wanted, std::move(request))
                                                       : tune_operation(wanted, std::move(request));
}

Result<BackgroundTuner::End> BackgroundTuner::tune_kernel(const Wanted& wanted, TuneRequest request) {
  request.spec = *wanted.operation->implementations.front();
  request.problem = wanted.problem;
  HONE_ASSIGN(const TuneReport report, tune(request, *store_, builtin_registry()));
  if (!report.best) {
    return Error{ErrorCode::kBadKernel, "no configuration was right; the first failure: " + report.first_failure};
  }
  return End::kTuned;
}

Result<BackgroundTuner::End> BackgroundTuner::tune_operation(const Wanted& wanted, TuneRequest request) {
  Operation operation = *wanted.operation;
  std::deque<KernelSpec> libraries;
  add_libraries(operation, libraries, device_, wanted.problem);
  HONE_ASSIGN(const OperationReport report,
              tune(OperationRequest{&operation, wanted.problem, std::move(request)}, *store_, builtin_registry()));
  if (!report.winner) {
    return Error{ErrorCode::kBadKernel, "no configuration of any kernel was right"};
  }
  return End::kTuned;
}

/// Of all its kernels, on this problem and device.
Result<std::vector<SessionInfo>> BackgroundTuner::sessions_of(const Wanted& wanted) {
  HONE_ASSIGN(std::vector<SessionInfo> sessions, store_->sessions());
  HONE_ASSIGN(const std::vector<Implementation> kernels, implementations_for(*wanted.operation, wanted.problem));
  std::erase_if(sessions, [&](const SessionInfo& session) {
    const bool own = std::ranges::any_of(kernels, [&](const Implementation& kernel) {
      return session.source_hash == kernel.spec->source_hash && session.problem == kernel.problem;
    });
    return !own || session.dtypes != name(wanted.problem.dtype) || session.product != device_.info.product;
  });
  return sessions;
}

void BackgroundTuner::note_end(const Wanted& wanted, const Result<End>& end) {
  if (end && *end == End::kTuned) {
    request_.tuned(wanted.key);
  }
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(waiting_, wanted.key, &Wanted::key);
  if (end && *end == End::kElsewhere) {
    at->times = 0;  // others come first
    return;
  }
  waiting_.erase(at);
  finished_.insert(wanted.key);
  if (end) {
    ++report_.tuned;
  } else {
    report_.failures.push_back(
        fmt::format("{} {} {}: {}", wanted.operation->name, name(wanted.problem.dtype), text(wanted.problem.shape), end.error().message));
  }
}

}  // namespace hone
