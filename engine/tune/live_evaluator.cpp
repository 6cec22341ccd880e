// Trials on a real device: a pool of compiling processes ahead of the one process that measures.

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cmath>
#include <deque>
#include <exception>
#include <limits>
#include <stop_token>
#include <thread>

#include "engine/base/cores.hpp"
#include "engine/tune/compile_pool.hpp"
#include "engine/tune/device_workers.hpp"
#include "engine/tune/evaluator.hpp"
#include "engine/tune/final_round.hpp"
#include "engine/tune/stage_limits.hpp"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::size_t kMostReady = 64;
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kCpuShare = 0.5;      // of a core: a candidate of the cpu device that had less was not given the time it was granted
constexpr double kLockPatience = 5.0;  // seconds in which nobody else has the device and a worker still says that it waits for it
constexpr double kFinalsBeyond = 0.2;  // of a budget, that the final round may last beyond it
constexpr double kFinalsSlack = 4.0;   // seconds beyond that: what a round needs however short the budget
constexpr double kWatchedFloor =
    30.0;  // seconds for a stage under a sanitizer, which looks up lines of the source before it says what it found
constexpr int kMostFaultless = 2;
constexpr double kAwayWeight = 0.2;  // of the latest in the mean of how long the strategy thinks
constexpr std::size_t kLooksAfter =
    16;                                // trials: the first ones are seen to the end, they teach the strategy and a small space is worth it
constexpr double kRepeatShare = 0.05;  // of a session, for the repeated launches of its finalists
constexpr double kLeastRepeat = 0.005, kMostRepeat = 0.05;  // seconds of one of them
constexpr double kFinalTimingShare = 0.1;  // of a session's budget, or of how long it has lasted, for the timing of all finalists
constexpr double kFinalistTrials = 2.0;    // times the default's trial that one finalist of a round costs
constexpr double kTrialsOfBudget = 20.0;   // of the default that a budget holds at least, for a session to end within its bound

struct ReadyTrial {
  Proposal proposal;
  Compiled compiled;
  double compile_seconds = 0.0;
  bool tried_before = false;  ///< in a process that failed before the candidate had run
};

int compile_workers(const TuneRequest& request) {
  return request.compile_workers > 0 ? request.compile_workers : static_cast<int>(usable_cores());
}

/// The first request to every worker.
wire::Message setup_of(const TuneRequest& request) {
  return {{"op", "setup"},
          {"device", wire::to_message(request.device.info)},
          {"plugin", request.device.plugin->file().string()},
          {"spec", request.spec.serialize()},
          {"problem", wire::to_message(request.problem)},
          {"settings", wire::to_message(request.measure)},
          {"seed", request.seed}};
}

class LiveEvaluator final : public Evaluator {
 public:
  LiveEvaluator(const TuneRequest& request, Store* store, const std::filesystem::path& executable, const wire::Message& setup)
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

  /// Begins to open the device and, where the store has it not, to compile the reference. Neither is waited for.
  Result<void> prepare() {
    HONE_ASSIGN(const std::optional<Compiled> reference, find_cached(key_of("reference")));
    return device_.start(reference);
  }

  [[nodiscard]] std::size_t wanted() const override {
    const std::size_t queued = pool_.pending() + ready_.size();
    if (!request_.device.info.compile_overlaps && (queued > 0 || on_device_)) {
      return 0;  // compiling would disturb the timing: first compile, then measure
    }
    const std::size_t depth = this->depth();
    return queued < depth ? depth - queued : 0;
  }

  [[nodiscard]] std::size_t in_flight() const override { return pool_.pending() + ready_.size() + (on_device_ ? 1 : 0) + finished_.size(); }

  void submit(std::vector<Proposal> proposals) override {
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

  [[nodiscard]] double elapsed() const override { return Seconds(Clock::now() - start_).count(); }

  Result<std::vector<Trial>> wait(double until) override {
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

  void meanwhile(const std::function<void()>& work) override {
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

  Result<std::vector<Trial>> drain() override {
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

  void set_incumbent(double time_us) override { incumbent_us_ = time_us; }

  void set_end(double seconds) override { end_ = seconds; }

  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }

  void set_normal(double seconds) override {
    limits_.learn({.name = "a trial"}, seconds);
    limits_.learnt(seconds);
    device_.keep_standby();
  }

  Result<std::vector<Trial>> finals(const std::vector<Candidate>& candidates, std::size_t most) override {
    const double until = end_ + kFinalsBeyond * std::abs(end_) + kFinalsSlack;
    FinalRound round(candidates, most);
    int faultless = 0;  // rounds that broke off without anybody to blame
    for (std::vector<std::size_t> places = round.next(); !places.empty(); places = round.next()) {
      if (elapsed() >= until || faultless == kMostFaultless) {
        return round.as_they_were();  // measured one by one: less comparable, and all there is time for
      }
      if (elapsed() + kFinalistTrials * limits_.default_seconds() * static_cast<double>(places.size()) > until) {
        round.narrow();
        places = round.next();
      }
      HONE_TRY(await_bench());
      HONE_ASSIGN(wire::Message message, finals_message(round, places));
      const Result<wire::FinalsResult> reply = converse(message, finals_limit(until, places.size()), places);
      if (failure_) {
        return *failure_;
      }
      if (reply) {
        if (!round.take(places, reply->trials, reply->complete)) {
          ++faultless;
          device_.retire(false);
        } else if (reply->fatal) {
          device_.retire(false);
        }
        continue;
      }
      faultless += blame(reply.error(), round, places) ? 0 : 1;
      device_.retire(reply.error().code == ErrorCode::kTimeout);
    }
    return round.results();
  }

  [[nodiscard]] double device_idle() const override {
    if (!first_trial_) {
      return 0.0;
    }
    const double span = Seconds(last_trial_end_ - *first_trial_).count();
    return span > 0.0 ? std::max(0.0, 1.0 - busy_seconds_ / span) : 0.0;
  }

 private:
  [[nodiscard]] CompiledKey key_of(std::string configuration) const {
    return compiled_key(request_.spec, request_.problem, std::move(configuration), request_.device.info);
  }

  Result<std::optional<Compiled>> find_cached(const CompiledKey& key) const {
    if (store_ == nullptr) {
      return std::optional<Compiled>();
    }
    return store_->find_compiled(key);
  }

  Result<void> keep(const CompiledKey& key, const Compiled& compiled) const {
    return store_ == nullptr ? Result<void>() : store_->put_compiled(key, compiled);
  }

  /// Configurations in the pipeline: by Little's law, as many as finish compiling while one is measured and while the strategy thinks, and
  /// a few to spare.
  [[nodiscard]] std::size_t depth() const {
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

  [[nodiscard]] Clock::time_point clock_of(double seconds) const {
    return start_ + std::chrono::duration_cast<Clock::duration>(Seconds(std::min(seconds, 1e9)));
  }

  [[nodiscard]] double left() const { return std::max(0.0, end_ - elapsed()); }

  /// For opening the device and for filling its buffers.
  [[nodiscard]] RequestLimits preparing() {
    return {.stage =
                [this](const wire::Stage& stage) {
                  return stage.kind == wire::Stage::Kind::kWaiting     ? waiting_limit()
                         : stage.kind == wire::Stage::Kind::kReference ? limits_.stage(stage, kNever)
                                                                       : limits_.patience();
                },
            .took = [this](const wire::Stage& stage, double seconds) { learn_reference(stage, seconds); }};
  }

  /// For a trial, and for a final round whose finalists take turns.
  [[nodiscard]] RequestLimits trying(double total, double within) {
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

  [[nodiscard]] double watched_floor() const { return request_.sanitizer ? kWatchedFloor : 0.0; }

  void learn_reference(const wire::Stage& stage, double seconds) {
    if (stage.kind == wire::Stage::Kind::kReference) {
      limits_.learn(stage, seconds);
    }
  }

  /// A worker may say that it waits for the device for as long as somebody else has it.
  [[nodiscard]] double waiting_limit() const { return device_.device_is_taken() ? kNever : kLockPatience; }

  Result<wire::Message> finals_message(const FinalRound& round, const std::vector<std::size_t>& places) {
    wire::Message candidates = wire::Message::array();
    for (const std::size_t place : places) {
      const Trial& trial = round.trial(place);
      HONE_ASSIGN(const Compiled compiled, compiled_of(trial));
      candidates.push_back(
          {{"configuration", text(request_.spec.parameters, trial.configuration)}, {"compiled", wire::to_message(compiled)}});
    }
    const double repeat = std::clamp(kRepeatShare * elapsed() / static_cast<double>(places.size()), kLeastRepeat, kMostRepeat);
    const double timing = kFinalTimingShare * (end_ < kNever ? end_ : elapsed()) / static_cast<double>(places.size());
    return wire::Message{{"op", "finals"}, {"candidates", std::move(candidates)}, {"repeat_seconds", repeat}, {"timing_seconds", timing}};
  }

  /// A kernel so slow that its default alone takes much of the budget gets its final round all the same: else nothing would win.
  [[nodiscard]] double finals_limit(double until, std::size_t finalists) const {
    const bool slow = limits_.default_seconds() * kTrialsOfBudget > end_;
    const double needed = slow ? 2.0 * kFinalistTrials * limits_.default_seconds() * static_cast<double>(finalists) : 0.0;
    return std::max({until - elapsed(), 4.0 * limits_.floor(), needed});
  }

  /// One final round, waited for. Everything else that is under way goes on meanwhile.
  Result<wire::FinalsResult> converse(const wire::Message& message, double total, const std::vector<std::size_t>& places) {
    std::optional<Result<wire::FinalsResult>> answer;
    device_.worker().request<wire::FinalsResult>(message, trying(total, std::max(left(), total)), wire::read_finals,
                                                 [&answer](Result<wire::FinalsResult> reply) { answer = std::move(reply); });
    while (!answer && !failure_) {
      context_.restart();
      context_.run_one();
    }
    if (failure_) {
      return *failure_;
    }
    const std::optional<std::size_t> finalist = device_.worker().stage().finalist;
    blamed_ = finalist && *finalist < places.size() ? finalist : std::nullopt;
    return std::move(*answer);
  }

  /// A finalist that brought the worker down is out; the worker's last stage names it. False if it names none.
  bool blame(const Error& error, FinalRound& round, const std::vector<std::size_t>& places) const {
    if (!blamed_) {
      return false;
    }
    round.drop(places[*blamed_], error.code == ErrorCode::kTimeout ? Outcome::kTimeout : Outcome::kIllegalAccess, error.message);
    return true;
  }

  Result<void> await_bench() {
    HONE_TRY(device_.revive());
    while (!device_.ready() && !failure_) {
      HONE_TRY(device_.revive());
      context_.restart();
      context_.run_one();
    }
    return failure_ ? Result<void>(*failure_) : Result<void>();
  }

  void compiled(CompilePool::Done done) {
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

  /// The next to be measured. The first proposal goes first, whatever else is compiled by then.
  [[nodiscard]] std::deque<ReadyTrial>::iterator next_ready() {
    return first_waits_ ? std::find_if(ready_.begin(), ready_.end(), [this](const ReadyTrial& r) { return r.proposal.position == *first_; })
                        : ready_.begin();
  }

  void feed_device() {
    const bool must_wait = !request_.device.info.compile_overlaps && pool_.pending() > 0;
    const auto next = next_ready();
    if (on_device_ || next == ready_.end() || must_wait || closed_ || failure_) {
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

  void measured(Result<wire::TrialResult> reply) {
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

  Result<std::vector<Trial>> collect() {
    if (failure_) {
      return *failure_;
    }
    return std::exchange(finished_, {});
  }

  Result<Compiled> compiled_of(const Trial& trial) {
    HONE_ASSIGN(auto cached, find_cached(key_of(text(request_.spec.parameters, trial.configuration))));
    if (!cached) {
      return Error{ErrorCode::kStore, fmt::format("the store has lost the compiled code {} of a finalist", trial.artifact)};
    }
    return *std::move(cached);
  }

  const TuneRequest& request_;
  Store* store_;
  boost::asio::io_context context_;
  CompilePool pool_;
  StageLimits limits_;
  DeviceWorkers device_;
  std::deque<ReadyTrial> ready_;
  ReadyTrial current_;
  std::vector<Trial> finished_;
  std::optional<Error> failure_;
  std::vector<std::string> notes_;
  std::optional<double> incumbent_us_;
  std::optional<Count> first_;  ///< position of the first proposal
  bool first_waits_ = false, on_device_ = false, closed_ = false;
  std::size_t trials_done_ = 0;
  double away_ = 0.0;  ///< seconds that meanwhile() takes
  double busy_seconds_ = 0.0, first_seconds_ = 0.0, end_ = kNever;
  std::optional<std::size_t> blamed_;  ///< the place, in the last request for a final round, of who ran when it ended
  std::optional<Clock::time_point> first_trial_;
  Clock::time_point start_ = Clock::now(), trial_start_, last_trial_end_;
  /// Whoever asks to stop does so from another thread: what waits in the context wakes up and finds a failure.
  std::stop_callback<std::function<void()>> on_stop_{request_.stop,
                                                     [this] { boost::asio::post(context_, [this] { failure_ = cancelled(); }); }};
};

}  // namespace

Result<std::unique_ptr<Evaluator>> make_live_evaluator(const TuneRequest& request, Store* store) {
  HONE_ASSIGN(const std::filesystem::path executable, find_worker());
  auto evaluator = std::make_unique<LiveEvaluator>(request, store, executable, setup_of(request));
  HONE_TRY(evaluator->prepare());
  return std::unique_ptr<Evaluator>(std::move(evaluator));
}

}  // namespace hone
