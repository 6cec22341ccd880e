#pragma once
// Processes that have a plugin loaded, as this one sees them: asked, waited for, ended.

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/worker/plugin_wire.hpp"
#include "engine/worker/worker_process.hpp"

namespace hone {

class SearchSpace;
class LikelySpace;

/// One process. Used by one thread at a time; whoever destroys it kills the process with all that it started in its group.
class PluginProcess {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts it and has it open the shared object. `limited`: within the memory of a strategy, which is too little for the address space
  /// that a device's runtime reserves. Errors (kPlugin): the plugin is refused, does not return in time, or ends its process; says in which
  /// function.
  static Result<std::unique_ptr<PluginProcess>> start(const std::filesystem::path& file, std::chrono::milliseconds timeout, bool limited);

  [[nodiscard]] const wire::PluginContents& contents() const { return contents_; }

  /// Sends a request; the answer is there once wait() has returned true.
  template <class T>
  std::shared_ptr<std::optional<Result<T>>> begin(const wire::Message& message, Result<T> (*read)(const wire::Message&)) {
    auto answer = std::make_shared<std::optional<Result<T>>>();
    worker_->request<T>(message, RequestLimits::all(std::numeric_limits<double>::infinity()), read,
                        [answer](Result<T> reply) { *answer = std::move(reply); });
    return answer;
  }
  /// Sends what is not answered.
  void post(const wire::Message& message) { worker_->post(message); }
  /// Until the request is answered, the process has ended, or `until`; false in the last case.
  bool wait(Clock::time_point until);
  /// begin() and wait(); nothing if it is not answered in time.
  template <class T>
  std::optional<Result<T>> ask(const wire::Message& message, Result<T> (*read)(const wire::Message&), std::chrono::milliseconds timeout) {
    const auto answer = begin(message, read);
    return wait(Clock::now() + timeout) ? std::move(*answer) : std::nullopt;
  }

  /// Whether a request is not answered yet.
  bool busy();
  /// It waits for a request.
  [[nodiscard]] bool is_sound() const { return worker_->is_sound(); }
  /// The function of the plugin that runs, or ran last: `asked`, or one that was posted before it.
  [[nodiscard]] std::string running(const std::string& asked) const;
  /// How it ended and what it had written to its standard error: "its process was killed by signal 11 (Segmentation fault)".
  [[nodiscard]] std::string end() const;

  /// The number under which the process has the space; sends it if it has not. Errors: kPlugin.
  Result<std::uint64_t> space(const std::shared_ptr<const SearchSpace>& space, const LikelySpace* likely);

 private:
  PluginProcess() = default;
  Result<void> open(const std::filesystem::path& file, std::chrono::milliseconds timeout, bool limited);

  struct KnownSpace {
    std::weak_ptr<const SearchSpace> space;
    std::uint64_t id = 0;
  };

  boost::asio::io_context context_;
  std::unique_ptr<WorkerProcess> worker_;
  wire::PluginContents contents_;
  std::vector<KnownSpace> spaces_;  ///< the latest last
  std::uint64_t next_space_ = 0;
};

/// The processes of one plugin that wait for the next search: starting one takes as long as some searches do.
class PluginPool {
 public:
  PluginPool(std::filesystem::path file, std::chrono::milliseconds timeout) : file_(std::move(file)), timeout_(timeout) {}

  /// One that waits, or a new one.
  Result<std::unique_ptr<PluginProcess>> take();
  /// Keeps it if it is sound.
  void give_back(std::unique_ptr<PluginProcess> process);

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  [[nodiscard]] std::chrono::milliseconds timeout() const { return timeout_; }
  /// Once a strategy did not return from `destroy` in time the others end by the end of their process.
  [[nodiscard]] bool may_destroy() const;
  void note_stalled_end();

 private:
  std::filesystem::path file_;
  std::chrono::milliseconds timeout_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<PluginProcess>> waiting_;
  bool end_stalled_ = false;
};

}  // namespace hone
