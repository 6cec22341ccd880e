#pragma once
// Worker processes that compile. A compiler that crashes or hangs costs its own configuration, nothing else.

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "engine/device/trial.hpp"
#include "engine/worker/replies.hpp"
#include "engine/worker/worker_process.hpp"

namespace hone {

class CompilePool {
 public:
  /// One configuration's result: seconds are its share of the batch.
  struct Done {
    Proposal proposal;
    Result<Compiled> compiled;
    Outcome failure = Outcome::kCompileError;  ///< meaningful if `compiled` is an error
    double seconds = 0.0;
  };
  using Handler = std::function<void(Done)>;

  CompilePool(boost::asio::io_context& context, std::filesystem::path executable, std::vector<Parameter> parameters, wire::Message setup,
              int workers, Handler handler);

  /// Has a request to compile answered by somebody else. Errors, kUnavailable: there is nobody any more.
  using Elsewhere = std::function<void(const wire::Message& request, std::function<void(Result<wire::CompileResult>)> answered)>;
  /// From now on so many batches are compiled elsewhere at a time, beside those that are compiled here.
  void set_elsewhere(std::size_t most, Elsewhere compile);

  void submit(std::vector<Proposal> proposals);
  void clear_queue() { queue_.clear(); }
  /// Proposals queued or being compiled.
  [[nodiscard]] std::size_t pending() const;
  [[nodiscard]] std::size_t running() const { return running_; }
  [[nodiscard]] std::size_t workers() const { return std::min(most_, slots_.size()) + most_elsewhere_; }
  /// From now on no more than so many work at a time, and at least one.
  void set_most(std::size_t most) {
    most_ = std::max<std::size_t>(1, most);
    dispatch();
  }
  /// Seconds that a batch of so many may take: five times the median of a configuration's, for each; more on a crowded host.
  [[nodiscard]] double limit(std::size_t configurations) const;
  /// Mean seconds a configuration takes one worker; a guess before the first.
  [[nodiscard]] double mean_seconds() const { return compiled_ == 0 ? kFirstGuess : seconds_ / static_cast<double>(compiled_); }
  [[nodiscard]] std::size_t batch_size() const;
  /// The error that made the pool unusable (a worker cannot be started, the compiler is missing), if any.
  [[nodiscard]] const std::optional<Error>& broken() const { return broken_; }

 private:
  static constexpr double kFirstGuess = 0.3;
  struct Slot {
    std::unique_ptr<WorkerProcess> process;
    std::vector<Proposal> batch;
    bool elsewhere = false;
  };

  struct Waiting {
    Proposal proposal;
    bool alone = false;  ///< a worker was lost over it, or over one beside it
  };

  void dispatch();
  /// What the next worker gets: with few waiting, no more than spreads them over all workers that are free.
  std::vector<Proposal> next_batch(std::size_t free_workers);
  void start(Slot& slot);
  void send(Slot& slot);
  [[nodiscard]] wire::Message request_for(const Slot& slot) const;
  void dispatch_elsewhere(std::size_t& free_workers);
  void finished(Slot& slot, Result<wire::CompileResult> reply);
  void lost(Slot& slot, const Error& why);

  boost::asio::io_context& context_;
  std::filesystem::path executable_;
  std::vector<Parameter> parameters_;
  wire::Message setup_;
  Handler handler_;
  std::vector<std::unique_ptr<Slot>> slots_, elsewhere_;
  Elsewhere compile_elsewhere_;
  std::size_t most_elsewhere_ = 0;
  std::deque<Waiting> queue_;
  std::size_t most_ = std::numeric_limits<std::size_t>::max();
  std::size_t running_ = 0, compiled_ = 0;
  double seconds_ = 0.0;
  std::vector<double> each_;  ///< seconds of a configuration, of every batch, sorted
  std::optional<Error> broken_;
};

}  // namespace hone
