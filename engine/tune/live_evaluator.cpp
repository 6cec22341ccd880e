// Trials on a real device: a pool of compiling processes ahead of the one process that measures.

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <deque>
#include <stop_token>
#include <thread>

#include "engine/tune/compile_pool.hpp"
#include "engine/tune/evaluator.hpp"
#include "engine/tune/measuring_process.hpp"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr double kFirstTrialDeadline = 300.0;    // seconds; the default's trial also computes the reference
constexpr double kShortestTrialDeadline = 10.0;  // per stage
constexpr double kTrialDeadlineFactor = 10.0;    // times the default's own trial
constexpr std::size_t kMostReady = 64;

struct ReadyTrial {
  Proposal proposal;
  Compiled compiled;
  double compile_seconds = 0.0;
};

int compile_workers(const TuneRequest& request) {
  return request.compile_workers > 0 ? request.compile_workers : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
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
        device_(context_, executable, setup,
                {.ready = [this] { feed_device(); },
                 .failed = [this](Error why) { failure_ = std::move(why); },
                 .has_reference = [this](const Compiled& reference) { return keep(key_of("reference"), reference); }}) {}

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
        ready_.push_back({std::move(proposal), **cached, 0.0});
      } else {
        uncached.push_back(std::move(proposal));
      }
    }
    pool_.submit(std::move(uncached));
    feed_device();
  }

  [[nodiscard]] double elapsed() const override { return Seconds(Clock::now() - start_).count(); }

  Result<std::vector<Trial>> wait(double until) override {
    const auto deadline = start_ + std::chrono::duration_cast<Clock::duration>(Seconds(std::min(until, 1e9)));
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

  Result<std::vector<Trial>> drain() override {
    pool_.clear_queue();
    ready_.clear();
    closed_ = true;  // what still finishes compiling goes to the store, not to the device: that belongs to the final round now
    while (on_device_ && !failure_) {
      context_.restart();
      context_.run_one();
    }
    return collect();
  }

  void set_incumbent(double time_us) override { incumbent_us_ = time_us; }

  Result<std::vector<Trial>> finals(const std::vector<Trial>& finalists) override {
    std::vector<Trial> results = finalists;
    std::vector<std::size_t> alive;
    for (std::size_t i = 0; i < finalists.size(); ++i) {
      alive.push_back(i);
    }
    while (!alive.empty()) {
      HONE_TRY(await_bench());
      wire::Message candidates = wire::Message::array();
      for (const std::size_t i : alive) {
        HONE_ASSIGN(const Compiled compiled, compiled_of(finalists[i]));
        candidates.push_back(
            {{"configuration", text(request_.spec.parameters, finalists[i].configuration)}, {"compiled", wire::to_message(compiled)}});
      }
      const auto reply = converse({{"op", "finals"}, {"candidates", std::move(candidates)}}, std::max(60.0, 4 * trial_deadline()));
      if (!reply) {
        HONE_TRY(drop_offender(reply.error(), alive, results));
        continue;
      }
      if (take_finals(*reply, alive, results)) {
        return results;
      }
    }
    return results;
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
    return compiled_key(request_.spec, request_.problem.dtype, std::move(configuration), request_.device.info);
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

  /// Configurations in the pipeline: by Little's law, as many as finish compiling while one is measured, and a few to spare.
  [[nodiscard]] std::size_t depth() const {
    const std::size_t most = pool_.workers() * pool_.batch_size();
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

  [[nodiscard]] double trial_deadline() const {
    return default_seconds_ == 0.0 ? kFirstTrialDeadline : std::max(kShortestTrialDeadline, kTrialDeadlineFactor * default_seconds_);
  }

  /// One request and its reply, waited for. Everything else that is under way goes on meanwhile.
  Result<wire::Message> converse(const wire::Message& message, double deadline) {
    std::optional<Result<wire::Message>> answer;
    device_.request(message, Seconds(deadline), [&answer](Result<wire::Message> reply) { answer = std::move(reply); });
    while (!answer && !failure_) {
      context_.restart();
      context_.run_one();
    }
    if (!answer) {
      return *failure_;
    }
    if (*answer && (*answer)->contains("error")) {
      return wire::error_from((*answer)->at("error"));
    }
    return std::move(*answer);
  }

  Result<void> await_bench() {
    HONE_TRY(device_.revive());
    while (!device_.ready() && !failure_) {
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
    if (incumbent_us_) {
      message["incumbent"] = *incumbent_us_;
    }
    on_device_ = true;
    trial_start_ = Clock::now();
    first_trial_ = first_trial_.value_or(trial_start_);
    device_.request(message, Seconds(trial_deadline()), [this](Result<wire::Message> reply) { measured(std::move(reply)); });
  }

  void measured(Result<wire::Message> reply) {
    on_device_ = false;
    last_trial_end_ = Clock::now();
    const double seconds = Seconds(last_trial_end_ - trial_start_).count();
    busy_seconds_ += seconds;
    if (++trials_done_ == 1) {
      first_seconds_ = seconds;
    }
    Trial trial;
    trial.configuration = current_.proposal.configuration;
    trial.position = current_.proposal.position;
    trial.artifact = current_.compiled.artifact->digest;
    trial.resources = current_.compiled.resources;
    if (reply) {
      wire::fill_from(*reply, trial);
      if (default_seconds_ == 0.0) {
        default_seconds_ = seconds;
      }
      if (reply->at("fatal").get<bool>()) {
        device_.drop();
      }
    } else {
      trial.outcome = reply.error().code == ErrorCode::kTimeout ? Outcome::kTimeout : Outcome::kIllegalAccess;
      trial.detail = reply.error().message;
      trial.seconds.overhead = seconds;
      device_.drop();
    }
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

  /// A finalist that brought the worker down is out; the worker's last stage names it.
  static Result<void> drop_offender(const Error& error, std::vector<std::size_t>& alive, std::vector<Trial>& results) {
    const std::string marker = "validating finalist ";
    const std::size_t at = error.message.find(marker);
    if (at == std::string::npos) {
      return error;
    }
    const std::size_t place = std::stoul(error.message.substr(at + marker.size()));
    Trial& trial = results[alive.at(place)];
    trial.outcome = error.code == ErrorCode::kTimeout ? Outcome::kTimeout : Outcome::kIllegalAccess;
    trial.detail = error.message;
    alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(place));
    return {};
  }

  /// False if the device broke on the last result: that finalist is out and the others must run again.
  bool take_finals(const wire::Message& reply, std::vector<std::size_t>& alive, std::vector<Trial>& results) {
    const wire::Message& entries = reply.at("results");
    for (std::size_t k = 0; k < entries.size(); ++k) {
      Trial& trial = results[alive[k]];
      const double compile_seconds = trial.seconds.compile;
      wire::fill_from(entries[k], trial);
      trial.seconds.compile = compile_seconds;
    }
    if (!reply.at("fatal").get<bool>()) {
      return true;
    }
    alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(entries.size()) - 1);
    device_.drop();
    return false;
  }

  const TuneRequest& request_;
  Store* store_;
  boost::asio::io_context context_;
  CompilePool pool_;
  MeasuringProcess device_;
  std::deque<ReadyTrial> ready_;
  ReadyTrial current_;
  std::vector<Trial> finished_;
  std::optional<Error> failure_;
  std::optional<double> incumbent_us_;
  std::optional<Count> first_;  ///< position of the first proposal
  bool first_waits_ = false, on_device_ = false, closed_ = false;
  std::size_t trials_done_ = 0;
  double busy_seconds_ = 0.0, first_seconds_ = 0.0, default_seconds_ = 0.0;
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
