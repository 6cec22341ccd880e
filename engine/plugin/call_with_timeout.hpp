#pragma once
// Calls into code that may never return.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace hone::plugin_host {

/// Runs jobs one at a time on a thread of its own. A job that does not return in time keeps the thread; once it returns, jobs are taken
/// again. What a job uses it must own: it may outlive the caller.
class CallWithTimeout {
 public:
  CallWithTimeout();
  CallWithTimeout(const CallWithTimeout&) = delete;
  CallWithTimeout& operator=(const CallWithTimeout&) = delete;
  /// Leaves a job that still runs to itself.
  ~CallWithTimeout();

  /// Whether an earlier job still runs.
  [[nodiscard]] bool busy() const;
  /// Whether the job returned within `patience`. Not to be called while busy.
  bool call(std::function<void()> job, std::chrono::milliseconds patience);

  /// One call on a thread of its own: what it returned, or nothing if it did not in time. What `question` uses it must own, as above.
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
