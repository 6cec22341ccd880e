#include "engine/tune/live_evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <cmath>
#include <exception>
#include <thread>

#include "engine/base/cores.hpp"
#include "engine/tune/compile_missing.hpp"
#include "engine/worker/worker.hpp"

namespace hone {
namespace {

constexpr std::size_t kMostReady = 64;
constexpr double kCpuShare = 0.5;      // of a core: a candidate of the cpu device that had less was not given the time it was granted
constexpr double kLockPatience = 5.0;  // seconds in which nobody else has the device and a worker still says that it waits for it
// Seconds for a stage under a sanitizer, which looks up lines of the source before it says what it found.
constexpr double kWatchedFloor = 30.0;
constexpr double kAwayWeight = 0.2;  // of the latest in the mean of how long the strategy thinks
// Trials: the first ones are seen to the end, they teach the strategy and a small space is worth it.
constexpr std::size_t kLooksAfter = 16;

int compile_workers(const TuneRequest& request) {
  return request.compile_workers > 0 ? request.compile_workers : static_cast<int>(usable_cores());
}

}  // namespace

LiveEvaluator::LiveEvaluator(const TuneRequest& request, Store* store, const std::filesystem::path& executable, const wire::Message& setup)
    : request_(request),
      store_(store),
      pool_(context_, executable, request.spec.parameters, setup, compile_workers(request),
            [this](CompilePool::Done done) { compiled(std::move(done)); }),
      limits_(!request.device.info.compile_overlaps, request.budget.seconds),
      device_(context_, request.sanitizer ? WorkerCommand(executable, *request.sanitizer) : WorkerCommand(executable), setup,
              request.device.info,
              {.ready = [this] { feed_device(); },
               .failed = [this](Error why) { failure_ = std::move(why); },
               .has_reference = [this](const Compiled& reference) { return keep(key_of("reference"), reference); },
               .limits = [this] { return preparing(); }}) {}

Result<void> LiveEvaluator::prepare() {
  HONE_ASSIGN(const std::optional<Compiled> reference, find_cached(key_of("reference")));
  return device_.start(reference);
}

std::size_t LiveEvaluator::wanted() const {
  const std::size_t queued = pool_.pending() + ready_.size();
  if (!request_.device.info.compile_overlaps && (queued > 0 || on_device_)) {
    return 0;  // compiling would disturb the timing: first compile, then measure
  }
  const std::size_t depth = this->depth();
  return queued < depth ? depth - queued : 0;
}

void LiveEvaluator::submit(std::vector<Proposal> proposals) {
  std::vector<Proposal> uncached;
  for (Proposal& proposal : proposals) {
    if (!first_) {
      first_ = proposal.position;
      first_waits_ = true;
    }
    const auto cached = find_cached(key_of(text(request_.spec.parameters, proposal.configuration)));
    if (cached && *cached) {
      ready_.push_back({std::move(proposal), **cached});
    } else {
      uncached.push_back(std::move(proposal));
    }
  }
  pool_.submit(std::move(uncached));
  feed_device();
}

Result<std::vector<Trial>> LiveEvaluator::wait(double until) {
  const auto deadline = clock_of(until);
  while (finished_.empty() && !failure_) {
    if (pool_.broken()) {
      return *pool_.broken();
    }
    context_.restart();
    if (context_.run_one_until(deadline) == 0) {
      break;
    }
  }
  return collect();
}

void LiveEvaluator::meanwhile(const std::function<void()>& work) {
  if (in_flight() == 0) {
    work();
    return;
  }
  const Clock::time_point begin = Clock::now();
  const auto stay = boost::asio::make_work_guard(context_);
  std::exception_ptr thrown;
  bool done = false;
  std::thread worker([&] {
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
    boost::asio::post(context_, [&done] { done = true; });
  });
  while (!done) {
    context_.restart();
    context_.run_one();
  }
  worker.join();
  away_ += kAwayWeight * (Seconds(Clock::now() - begin).count() - away_);
  if (thrown) {
    std::rethrow_exception(thrown);
  }
}

Result<std::vector<Trial>> LiveEvaluator::drain() {
  pool_.clear_queue();
  ready_.clear();
  closed_ = true;  // what still finishes compiling goes to the store, not to the device: that belongs to the final round now
  // A trial that would hold the session beyond its end is as if it had never begun.
  const auto until = clock_of(std::max(end_, elapsed() + limits_.floor()));
  while (on_device_ && !failure_) {
    context_.restart();
    if (context_.run_one_until(until) == 0) {
      on_device_ = false;
      device_.retire(true);
    }
  }
  return collect();
}

void LiveEvaluator::set_normal(double seconds) {
  limits_.learn({.name = "a trial"}, seconds);
  limits_.learnt(seconds);
  device_.keep_standby();
}

void LiveEvaluator::poll() {
  context_.restart();
  context_.poll();
}

void LiveEvaluator::hold(bool held) {
  held_ = held;
  feed_device();
}

bool LiveEvaluator::can_measure() const {
  const bool first_is_ready = std::ranges::any_of(ready_, [this](const ReadyTrial& r) { return r.proposal.position == *first_; });
  return device_.ready() && !ready_.empty() && (!first_waits_ || first_is_ready);
}

double LiveEvaluator::device_idle() const {
  if (!first_trial_) {
    return 0.0;
  }
  const double span = Seconds(last_trial_end_ - *first_trial_).count();
  return span > 0.0 ? std::max(0.0, 1.0 - busy_seconds_ / span) : 0.0;
}

CompiledKey LiveEvaluator::key_of(std::string configuration) const {
  return compiled_key(request_.spec, request_.problem, std::move(configuration), request_.device.info);
}

Result<std::optional<Compiled>> LiveEvaluator::find_cached(const CompiledKey& key) const {
  if (store_ == nullptr) {
    return std::optional<Compiled>();
  }
  return store_->find_compiled(key);
}

Result<void> LiveEvaluator::keep(const CompiledKey& key, const Compiled& compiled) const {
  return store_ == nullptr ? Result<void>() : store_->put_compiled(key, compiled);
}

std::size_t LiveEvaluator::depth() const {
  const std::size_t busy = pool_.workers() * pool_.batch_size();
  const double compiled_away = 2.0 * away_ * static_cast<double>(pool_.workers()) / std::max(pool_.mean_seconds(), 1e-4);
  const std::size_t most = busy + static_cast<std::size_t>(std::min(compiled_away, static_cast<double>(busy)));
  if (!request_.device.info.compile_overlaps) {
    return trials_done_ == 0 ? 1 : most;
  }
  if (trials_done_ < 2) {
    return std::min(most + 4, kMostReady);  // the first trial says little: it computes the reference as well
  }
  const double trial_seconds = (busy_seconds_ - first_seconds_) / static_cast<double>(trials_done_ - 1);
  const double rate = pool_.mean_seconds() * static_cast<double>(pool_.batch_size()) / std::max(trial_seconds, 1e-4);
  const auto needed = static_cast<std::size_t>(2.0 * std::min(rate, 1e4)) + 4;
  return std::min({needed, most + 4, kMostReady});
}

LiveEvaluator::Clock::time_point LiveEvaluator::clock_of(double seconds) const {
  return start_ + std::chrono::duration_cast<Clock::duration>(Seconds(std::min(seconds, 1e9)));
}

RequestLimits LiveEvaluator::preparing() {
  return {.stage =
              [this](const wire::Stage& stage) {
                return stage.kind == wire::Stage::Kind::kWaiting     ? waiting_limit()
                       : stage.kind == wire::Stage::Kind::kReference ? limits_.stage(stage, kNever)
                                                                     : limits_.patience();
              },
          .took = [this](const wire::Stage& stage, double seconds) { learn_reference(stage, seconds); }};
}

RequestLimits LiveEvaluator::trying(double total, double within) {
  return {.stage =
              [this, until = elapsed() + within](const wire::Stage& stage) {
                return stage.kind == wire::Stage::Kind::kWaiting
                           ? waiting_limit()
                           : std::max(watched_floor(), limits_.stage(stage, std::max(0.0, until - elapsed())));
              },
          .total = std::max(2.0 * watched_floor(), total),
          .cpu_share = request_.device.info.compile_overlaps ? 0.0 : kCpuShare,
          .took =
              [this](const wire::Stage& stage, double seconds) {
                learn_reference(stage, seconds);
                if (!limits_.knows_default() && stage.kind == wire::Stage::Kind::kWork) {
                  limits_.learn(stage, seconds);
                }
              }};
}

double LiveEvaluator::watched_floor() const { return request_.sanitizer ? kWatchedFloor : 0.0; }

double LiveEvaluator::waiting_limit() const { return device_.device_is_taken() ? kNever : kLockPatience; }

void LiveEvaluator::learn_reference(const wire::Stage& stage, double seconds) {
  if (stage.kind == wire::Stage::Kind::kReference) {
    limits_.learn(stage, seconds);
  }
}

void LiveEvaluator::compiled(CompilePool::Done done) {
  if (done.compiled) {
    const auto kept = keep(key_of(text(request_.spec.parameters, done.proposal.configuration)), *done.compiled);
    if (!kept) {
      failure_ = kept.error();
      return;
    }
    ready_.push_back({std::move(done.proposal), std::move(done.compiled).value(), done.seconds});
    feed_device();
    return;
  }
  Trial trial;
  trial.configuration = std::move(done.proposal.configuration);
  trial.position = done.proposal.position;
  trial.outcome = done.failure;
  trial.detail = done.compiled.error().message;
  trial.seconds.compile = done.seconds;
  first_waits_ = first_waits_ && trial.position != *first_;
  finished_.push_back(std::move(trial));
  feed_device();
}

std::deque<LiveEvaluator::ReadyTrial>::iterator LiveEvaluator::next_ready() {
  return first_waits_ ? std::find_if(ready_.begin(), ready_.end(), [this](const ReadyTrial& r) { return r.proposal.position == *first_; })
                      : ready_.begin();
}

void LiveEvaluator::feed_device() {
  const bool must_wait = !request_.device.info.compile_overlaps && pool_.pending() > 0;
  const auto next = next_ready();
  if (on_device_ || next == ready_.end() || must_wait || closed_ || held_ || failure_) {
    return;
  }
  if (const Result<void> revived = device_.revive(); !revived) {
    failure_ = revived.error();
    return;
  }
  if (!device_.ready()) {
    return;
  }
  first_waits_ = false;
  current_ = std::move(*next);
  ready_.erase(next);
  wire::Message message{{"op", "trial"},
                        {"configuration", text(request_.spec.parameters, current_.proposal.configuration)},
                        {"compiled", wire::to_message(current_.compiled)}};
  message["first"] = current_.proposal.position == *first_;
  if (incumbent_us_) {
    message["incumbent"] = *incumbent_us_;
    message["look"] = trials_done_ >= kLooksAfter;
  }
  on_device_ = true;
  trial_start_ = Clock::now();
  first_trial_ = first_trial_.value_or(trial_start_);
  device_.worker().request<wire::TrialResult>(message, trying(limits_.trial(left()), left()), wire::read_trial,
                                              [this](Result<wire::TrialResult> reply) { measured(std::move(reply)); });
}

void LiveEvaluator::measured(Result<wire::TrialResult> reply) {
  on_device_ = false;
  last_trial_end_ = Clock::now();
  const double seconds = Seconds(last_trial_end_ - trial_start_).count();
  busy_seconds_ += seconds;
  if (++trials_done_ == 1) {
    first_seconds_ = seconds;
  }
  const bool blameless = reply ? reply->blameless : device_.worker().stage().kind == wire::Stage::Kind::kReference;
  if (!reply || reply->fatal) {
    device_.retire(!reply && reply.error().code == ErrorCode::kTimeout);
  }
  if (blameless && limits_.knows_default() && !current_.tried_before) {
    current_.tried_before = true;
    ready_.push_front(std::move(current_));
    feed_device();
    return;
  }
  Trial trial = reply ? std::move(reply->trial) : Trial{};
  if (!reply) {
    trial.outcome = reply.error().code == ErrorCode::kTimeout ? Outcome::kTimeout : Outcome::kIllegalAccess;
    trial.detail = reply.error().message;
    trial.seconds.overhead = seconds;
    trial.resources = current_.compiled.resources;
  } else if (current_.proposal.position == *first_) {
    device_.drop_inputs(reply->dropped);
    notes_ = std::move(reply->notes);
  }
  if (reply && !limits_.knows_default()) {
    limits_.learnt(seconds);
    device_.keep_standby();
  }
  trial.configuration = current_.proposal.configuration;
  trial.position = current_.proposal.position;
  trial.artifact = current_.compiled.artifact->digest;
  trial.seconds.compile = current_.compile_seconds;
  finished_.push_back(std::move(trial));
  feed_device();
}

Result<std::vector<Trial>> LiveEvaluator::collect() {
  if (failure_) {
    return *failure_;
  }
  return std::exchange(finished_, {});
}

Result<std::unique_ptr<Evaluator>> make_live_evaluator(const TuneRequest& request, Store* store, Beside beside) {
  HONE_ASSIGN(const std::filesystem::path executable, find_worker());
  auto evaluator = std::make_unique<LiveEvaluator>(
      request, store, executable,
      worker_setup(request.device, request.spec, request.problem, request.measure, request.seed, beside.evaluators));
  HONE_TRY(evaluator->prepare());
  return std::unique_ptr<Evaluator>(std::move(evaluator));
}

}  // namespace hone
