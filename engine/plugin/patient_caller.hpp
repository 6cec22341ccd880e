#pragma once
// Calls into code that may never return.

#include <chrono>
#include <functional>
#include <memory>

namespace hone::plugin_host {

/// Runs jobs one at a time on a thread of its own. A job that does not return in time keeps the thread; once it returns, jobs are taken
/// again. What a job uses it must own: it may outlive the caller.
class PatientCaller {
 public:
  PatientCaller();
  PatientCaller(const PatientCaller&) = delete;
  PatientCaller& operator=(const PatientCaller&) = delete;
  /// Leaves a job that still runs to itself.
  ~PatientCaller();

  /// Whether an earlier job still runs.
  [[nodiscard]] bool busy() const;
  /// Whether the job returned within `patience`. Not to be called while busy.
  bool call(std::function<void()> job, std::chrono::milliseconds patience);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hone::plugin_host
