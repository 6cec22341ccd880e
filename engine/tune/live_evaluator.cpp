#include "engine/tune/live_evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <cmath>
#include <exception>
#include <iterator>
#include <thread>

#include "engine/base/cores.hpp"
#include "engine/tune/compile_missing.hpp"
#include "engine/tune/request_limits.hpp"
#include "engine/worker/worker.hpp"

namespace hone {
namespace {

constexpr std::size_t kMostReady = 64;
// Seconds for a stage under a sanitizer, which looks up lines of the source before it says what it found.
constexpr double kWatchedFloor = 30.0;
constexpr double kAwayWeight = 0.2;  // of the latest in the mean of how long the strategy thinks
// Trials: the first ones are seen to the end, they teach the strategy and a small space is worth it.
constexpr std::size_t kLooksAfter = 16;

constexpr Count kOfDefault = ~Count{0};  // in place of a position, of what is compiled for verdicts alone

constexpr std::size_t kSpare = 4;                       // configurations that wait for a device, beyond what it needs in the mean
constexpr double kDeviceBound = 0.1, kHostBound = 0.5;  // of the controls of a session's devices; others load the host's cores too

}  // namespace

int compile_workers(const TuneRequest& request) {
  if (request.compile_workers > 0) {
    return request.compile_workers;
  }
  const auto cores = static_cast<int>(usable_cores()), devices = 1 + static_cast<int>(request.more_devices.size());
  return devices > 1 && request.own_devices && request.device.info.compile_overlaps ? std::max(1, cores - devices) : cores;
}

LiveEvaluator::LiveEvaluator(const TuneRequest& request, Store* store, const std::filesystem::path& executable, wire::Message setup,
                             const Beside& beside)
    : request_(request),
      store_(store),
      pool_(context_, executable, request.spec.parameters, setup, compile_workers(request),
            [this](CompilePool::Done done) { compiled(std::move(done)); }),
      limits_(!request.device.info.compile_overlaps, request.budget.seconds),
      left_(beside.left),
      setup_(std::move(setup)),
      session_(beside.session),
      controls_(request.own_devices ? 1 + request.more_devices.size() : 0,
                request.device.info.compile_overlaps ? kDeviceBound : kHostBound) {
  if (!request.own_devices) {
    return;
  }
  const WorkerCommand command = request.sanitizer ? WorkerCommand(executable, *request.sanitizer) : WorkerCommand(executable);
  add_lane(request.device.info, command, setup_);
  for (const DeviceInfo& info : request.more_devices) {
    add_lane(info, command, setup_);
  }
}

Result<void> LiveEvaluator::prepare() {
  HONE_ASSIGN(const std::optional<Compiled> reference, find_cached(key_of("reference")));
  if (request_.workers) {
    HONE_TRY(attach());
  }
  if (!request_.own_devices) {
    HONE_TRY(prepare_reference(reference));
    return await_worker();
  }
  HONE_TRY(front().workers->start(reference));
  for (std::size_t place = 1; place < lanes_.size(); ++place) {
    HONE_TRY(reference ? lanes_[place]->workers->start(reference) : lanes_[place]->workers->revive());
  }
  if (reference && attached_) {
    attached_->use_reference(*reference);
  }
  return {};
}

std::size_t LiveEvaluator::wanted() const {
  const std::size_t queued = pool_.pending() + ready_.size();
  if (!compile_overlaps() && (queued > 0 || busy() > 0)) {
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
      first_waits_ = !several() || !limits_.knows_default();  // in a later part of a session the control comes first
      control_position_ = control_position_.value_or(proposal.position);
    }
    if (answer_from_leftovers(proposal)) {
      continue;
    }
    if (request_.recorded != nullptr) {
      is_ready({std::move(proposal), {}});
      continue;
    }
    const auto cached = find_cached(key_of(text(request_.spec.parameters, proposal.configuration)));
    if (cached && *cached) {
      is_ready({std::move(proposal), **cached});
    } else {
      uncached.push_back(std::move(proposal));
    }
  }
  pool_.submit(std::move(uncached));
  feed_devices();
}

Result<std::vector<Trial>> LiveEvaluator::wait(double until) {
  const auto deadline = clock_of(until);
  if (attached_) {
    attached_->recorded();
  }
  while (finished_.empty() && !failure_ && !has_news()) {
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
  for_default_.clear();
  if (attached_) {
    attached_->recorded();
  }
  closed_ = true;  // what still finishes compiling goes to the store, not to the device: that belongs to the final round now
  // A trial that would hold the session beyond its end is as if it had never begun.
  const auto until = clock_of(std::max(end_, elapsed() + limits_.floor()));
  while (busy() > 0 && !failure_) {
    context_.restart();
    if (context_.run_one_until(until) != 0) {
      continue;
    }
    for (const auto& lane : lanes_) {
      if (lane->busy()) {
        lane->at = DeviceLane::At::kNothing;
        lane->workers->retire(true);
      }
    }
  }
  return collect();
}

void LiveEvaluator::poll() {
  context_.restart();
  context_.poll();
}

void LiveEvaluator::hold(bool held) {
  held_ = held;
  feed_devices();
}

bool LiveEvaluator::can_measure() const {
  const bool first_is_ready = std::ranges::any_of(ready_, [this](const ReadyTrial& r) { return r.proposal.position == *first_; });
  const bool device_is_ready =
      std::ranges::any_of(lanes_, [this](const auto& lane) { return takes_part(*lane) && !lane->busy() && lane->workers->ready(); });
  return device_is_ready && !ready_.empty() && (!first_waits_ || first_is_ready);
}

double LiveEvaluator::device_idle() const {
  if (!first_trial_) {
    return 0.0;
  }
  const double span = Seconds(last_trial_end_ - *first_trial_).count() * static_cast<double>(lanes_.size());
  return span > 0.0 ? std::max(0.0, 1.0 - (busy_seconds_ + control_seconds_) / span) : 0.0;
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
  if (!compile_overlaps()) {
    return trials_done_ == 0 ? 1 : most;
  }
  const std::size_t devices = taking_part();
  if (trials_done_ < 2) {
    return std::min(most + kSpare * devices,
                    std::max(kMostReady, 2 * devices));  // the first trial says little: it computes the reference as well
  }
  const double trial_seconds = (busy_seconds_ - first_seconds_) / static_cast<double>(trials_done_ - 1);
  const double rate =
      static_cast<double>(devices) * pool_.mean_seconds() * static_cast<double>(pool_.batch_size()) / std::max(trial_seconds, 1e-4);
  const auto needed = static_cast<std::size_t>(2.0 * std::min(rate, 1e4)) + kSpare * devices;
  return std::min({needed, most + kSpare * devices, std::max(kMostReady, 2 * devices)});
}

LiveEvaluator::Clock::time_point LiveEvaluator::clock_of(double seconds) const {
  return start_ + std::chrono::duration_cast<Clock::duration>(Seconds(std::min(seconds, 1e9)));
}

RequestLimits LiveEvaluator::preparing(std::size_t place) {
  return preparing_limits(limits_, [this, place] { return lanes_[place]->workers->device_is_taken(); });
}

RequestLimits LiveEvaluator::trying(DeviceLane& lane, double total, double within, wire::Message& message) {
  lane.shared = lane.workers->fills_standby();
  if (lane.remote) {
    message["total"] = total;
    message["left"] = within;
    message["usual"] = limits_.default_seconds();
  }
  return trial_limits(limits_, [&lane] { return lane.workers->device_is_taken(); },
                      {.total = total,
                       .within = within,
                       .floor = request_.sanitizer ? kWatchedFloor : 0.0,
                       .beside = lane.shared,
                       .on_host = !request_.device.info.compile_overlaps});
}

std::string LiveEvaluator::default_text() const { return text(request_.spec.parameters, default_configuration(request_.spec.parameters)); }

void LiveEvaluator::ask_for_default() {
  if (!std::exchange(default_is_asked_, true)) {
    const auto cached = find_cached(key_of(default_text()));
    if (cached && *cached) {
      default_code_ = **cached;
    } else {
      pool_.submit({{kOfDefault, default_configuration(request_.spec.parameters)}});
    }
  }
}

void LiveEvaluator::await_default(ReadyTrial trial) {
  trial.with_default = true;
  for_default_.push_back(std::move(trial));
  ask_for_default();
  if (!waits_for_default()) {
    default_is_known();
  }
}

/// Without it trials stand as they are found.
void LiveEvaluator::default_is_known() {
  for (ReadyTrial& trial : for_default_) {
    first_waits_ = first_waits_ || (!limits_.knows_default() && trial.proposal.position == *first_);
    ready_.push_front(std::move(trial));
  }
  for_default_.clear();
}

void LiveEvaluator::compiled(CompilePool::Done done) {
  if (done.proposal.position == kOfDefault) {
    const Result<void> kept = done.compiled ? keep(key_of(default_text()), *done.compiled) : Result<void>();
    if (!kept) {
      failure_ = kept.error();
      return;
    }
    default_failed_ = !done.compiled;
    default_code_ = done.compiled ? std::optional(std::move(done.compiled).value()) : std::nullopt;
    default_is_known();
    feed_devices();
    return;
  }
  if (done.compiled) {
    const auto kept = keep(key_of(text(request_.spec.parameters, done.proposal.configuration)), *done.compiled);
    if (!kept) {
      failure_ = kept.error();
      return;
    }
    is_ready({std::move(done.proposal), std::move(done.compiled).value(), done.seconds});
    feed_devices();
    return;
  }
  Trial trial;
  trial.configuration = std::move(done.proposal.configuration);
  trial.position = done.proposal.position;
  trial.outcome = done.failure;
  trial.detail = done.compiled.error().message;
  trial.seconds.compile = done.seconds;
  if (several() && trial.position == control_position_ && first_ != control_position_) {
    failure_ = Error{ErrorCode::kCompile,
                     "the default configuration, by which the devices are compared, does not compile any more: " + trial.detail};
    return;
  }
  first_waits_ = first_waits_ && trial.position != *first_;
  finished_.push_back(std::move(trial));
  feed_devices();
}

void LiveEvaluator::is_ready(ReadyTrial trial) {
  if (several() && !control_ && trial.proposal.position == control_position_) {
    control_ = trial;
    if (first_ != control_position_) {
      return;  // it was tried in an earlier part of the session, and is wanted for the devices alone
    }
  }
  ready_.push_back(std::move(trial));
}

std::deque<ReadyTrial>::iterator LiveEvaluator::next_ready(const DeviceLane& lane) {
  const auto ready_at = [this](Count position) {
    return std::ranges::find(ready_, position, [](const ReadyTrial& r) { return r.proposal.position; });
  };
  if (first_waits_) {
    return &lane == &front() ? ready_at(*first_) : ready_.end();
  }
  // Until the default was measured nobody knows how long a trial may take, nor what the device's times are worth.
  const bool is_known = !needs_control() || (limits_.knows_default() && !controls_.is_new(lane.place));
  if (!is_known) {
    return ready_.end();
  }
  const auto serving = serving_ ? ready_at(*serving_) : ready_.end();
  return serving == ready_.end() ? ready_.begin() : serving;
}

void LiveEvaluator::feed_devices() {
  follow_departures();
  for (const auto& lane : lanes_) {
    feed(*lane);
  }
}

void LiveEvaluator::feed(DeviceLane& lane) {
  const bool must_wait = !compile_overlaps() && pool_.pending() > 0;
  if (lane.busy() || lane.closed || lane.vacant || must_wait || closed_ || failure_) {
    return;
  }
  if (held_) {  // whoever holds it waits for a process that is ready
    const Result<void> revived = lane.remote ? Result<void>() : lane.workers->revive();
    if (!revived) {
      lost(lane.place, revived.error());
    }
    return;
  }
  if (const std::optional<std::string> why = controls_.verdict(lane.place); why && taking_part() > 1) {
    if (lane.remote && controls_.fails(lane.place) && limits_.knows_default()) {
      attached_->dismiss(*lane.remote, *why);  // it is right elsewhere
    }
    leave(lane, *why, !controls_.fails(lane.place));
    return;
  }
  const auto next = next_ready(lane);
  const bool control = wants_control(lane, next != ready_.end());
  if (control && control_->with_default && waits_for_default()) {
    return;
  }
  if (!control && next == ready_.end()) {
    return;
  }
  if (const Result<void> revived = lane.workers->revive(); !revived) {
    lost(lane.place, revived.error());
    return;
  }
  if (!lane.workers->ready()) {
    return;
  }
  lane.began = Clock::now();
  control ? run_control(lane) : run_trial(lane, next);
}

wire::Message LiveEvaluator::trial_message(const ReadyTrial& trial) const {
  wire::Message message{{"op", "trial"}, {"configuration", text(request_.spec.parameters, trial.proposal.configuration)}};
  if (request_.recorded == nullptr) {
    message["compiled"] = wire::to_message(trial.compiled);
  }
  if (trial.with_default && default_code_) {
    message["default"] = wire::to_message(*default_code_);
  }
  return message;
}

void LiveEvaluator::run_trial(DeviceLane& lane, std::deque<ReadyTrial>::iterator next) {
  first_waits_ = false;
  lane.at = DeviceLane::At::kTrial;
  lane.current = std::move(*next);
  ready_.erase(next);
  wire::Message message = trial_message(lane.current);
  if (incumbent_) {
    const double factor = controls_.factor(lane.place);
    message["incumbent"] = wire::to_message(Incumbent{
        .time_us = incumbent_->time_us / factor, .value = incumbent_->value / factor, .time_allowance = incumbent_->time_allowance});
    message["look"] = trials_done_ >= kLooksAfter;
  }
  first_trial_ = first_trial_.value_or(lane.began);
  if (lane.remote) {
    message["tried"] = true;
    message["note"] = {{"device", lane.info.id}, {"factor", controls_.factor(lane.place)}, {"compile", lane.current.compile_seconds}};
  }
  const double within = lane.current.proposal.position == serving_ ? kNever : left();
  RequestLimits limits = trying(lane, limits_.trial(within), within, message);
  lane.workers->worker().request<wire::TrialResult>(message, std::move(limits), wire::read_trial,
                                                    [this, &lane](Result<wire::TrialResult> reply) { measured(lane, std::move(reply)); });
}

void LiveEvaluator::measured(DeviceLane& lane, Result<wire::TrialResult> reply) {
  lane.at = DeviceLane::At::kNothing;
  last_trial_end_ = Clock::now();
  const double seconds = Seconds(last_trial_end_ - lane.began).count();
  busy_seconds_ += seconds;
  controls_.spent(lane.place, seconds);
  if (++trials_done_ == 1) {
    first_seconds_ = seconds;
  }
  // What shared the device with a reference, and was too late, is tried once more alone.
  const bool late = !reply && reply.error().code == ErrorCode::kTimeout;
  const bool blameless =
      reply ? reply->blameless : (late && lane.shared) || lane.workers->worker().stage().kind == wire::Stage::Kind::kReference;
  if (!reply || reply->fatal) {
    lane.workers->retire(late);
  }
  if (blameless && limits_.knows_default() && !lane.current.tried_before) {
    lane.current.tried_before = true;
    ready_.push_front(std::move(lane.current));
    feed_devices();
    return;
  }
  if (reply && reply->asks_default && !lane.current.with_default && !default_failed_) {
    if (!closed_) {  // else it is as if it had never begun
      await_default(std::move(lane.current));
      feed_devices();
    }
    return;
  }
  Trial trial = reply ? std::move(reply->trial) : Trial{};
  if (!reply) {
    trial.outcome = reply.error().code == ErrorCode::kTimeout ? Outcome::kTimeout : Outcome::kIllegalAccess;
    trial.detail = reply.error().message;
    trial.seconds.overhead = seconds;
    trial.resources = lane.current.compiled.resources;
  } else {
    lane.workers->use_verdicts(reply->dropped, reply->held);
    std::ranges::copy_if(reply->notes, std::back_inserter(notes_),
                         [this](const std::string& note) { return std::ranges::find(notes_, note) == notes_.end(); });
  }
  if (reply && !limits_.knows_default() && trial.outcome == Outcome::kOk) {  // one that failed may have ended at once
    limits_.learnt(seconds);
    for (const auto& each : lanes_) {
      each->workers->keep_standby();
    }
  }
  trial.configuration = lane.current.proposal.configuration;
  trial.position = lane.current.proposal.position;
  trial.artifact = lane.current.compiled.artifact ? lane.current.compiled.artifact->digest : "";
  trial.seconds.compile = lane.current.compile_seconds;
  if (several()) {
    note_reference(lane, trial, seconds);
    bring_together(lane, trial);
  }
  finished_.push_back(std::move(trial));
  feed_devices();
}

Result<std::vector<Trial>> LiveEvaluator::collect() {
  if (failure_) {
    return *failure_;
  }
  if (attached_) {
    attached_->hand_over();
  }
  return std::exchange(finished_, {});
}

Result<std::unique_ptr<Evaluator>> make_live_evaluator(const TuneRequest& request, Store* store, const Beside& beside) {
  HONE_ASSIGN(const std::filesystem::path executable, find_worker());
  auto evaluator = std::make_unique<LiveEvaluator>(
      request, store, executable,
      worker_setup(request.device, request.spec, request.problem, request.measure, request.seed, beside.evaluators), beside);
  HONE_TRY(evaluator->prepare());
  return std::unique_ptr<Evaluator>(std::move(evaluator));
}

}  // namespace hone
