#pragma once
// Calls into code that may never return.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace hone::plugin_host {

/// Runs jobs one at a time on its own thread. A job that does not return in time keeps the thread; after it returns, new jobs are
/// accepted. A job must own everything it uses, because it may outlive the caller.
class CallWithTimeout {
 public:
  CallWithTimeout();
  CallWithTimeout(const CallWithTimeout&) = delete;
  CallWithTimeout& operator=(const CallWithTimeout&) = delete;
  /// Detaches from a job that is still running.
  ~CallWithTimeout();

  /// Whether an earlier job is still running.
  [[nodiscard]] bool busy() const;
  /// Whether the job returned within `patience`. Not to be called while busy.
  bool call(std::function<void()> job, std::chrono::milliseconds patience);

  /// One call on its own thread: its result, or nothing if it did not return in time. `question` must own everything it uses.
  template <class Answer>
  static std::optional<Answer> ask(std::function<Answer()> question, std::chrono::milliseconds patience) {
    const auto answer = std::make_shared<std::optional<Answer>>();
    CallWithTimeout caller;
    return caller.call([answer, question = std::move(question)] { answer->emplace(question()); }, patience) ? std::move(*answer)
                                                                                                            : std::nullopt;
  }

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hone::plugin_host
