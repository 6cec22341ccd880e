#pragma once
// Tunes what an application has missed, one problem after the other, on a thread of its own.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "engine/plugin/registry.hpp"
#include "engine/runtime/parts.hpp"
#include "engine/tune/session.hpp"

namespace hone {

class BackgroundTuner final : public Background {
 public:
  /// `store`: where sessions and their records go.
  BackgroundTuner(BackgroundRequest request, Registry::Found device, std::unique_ptr<Store> store);
  /// Stops the session under way, which a later process resumes.
  ~BackgroundTuner() override = default;
  BackgroundTuner(const BackgroundTuner&) = delete;
  BackgroundTuner& operator=(const BackgroundTuner&) = delete;

  void want(const std::string& key, std::shared_ptr<const Operation> operation, const Problem& problem) override;
  [[nodiscard]] BackgroundReport report() const override;

 private:
  struct Wanted {
    std::string key;
    std::shared_ptr<const Operation> operation;
    Problem problem;
    std::size_t times = 1;
  };
  enum class End { kTuned, kElsewhere };

  void run(const std::stop_token& stop);
  [[nodiscard]] Wanted most_wanted() const;
  Result<End> guarded(const Wanted& wanted, const std::stop_token& stop);
  Result<End> tune_one(const Wanted& wanted, const std::stop_token& stop);
  Result<End> tune_kernel(const Wanted& wanted, TuneRequest request);
  Result<End> tune_operation(const Wanted& wanted, TuneRequest request);
  Result<std::vector<SessionInfo>> sessions_of(const Wanted& wanted);
  void note_end(const Wanted& wanted, const Result<End>& end);

  const BackgroundRequest request_;
  const Registry::Found device_;
  const std::unique_ptr<Store> store_;

  mutable std::mutex mutex_;  ///< of all below
  std::condition_variable_any changed_;
  std::vector<Wanted> waiting_;     ///< the one under way included
  std::set<std::string> finished_;  ///< tuned or failed: not tried again
  BackgroundReport report_;
  std::jthread thread_;  ///< last: it ends before anything that it uses
};

/// Errors: no worker; a store that cannot be written.
Result<std::unique_ptr<Background>> start_background_tuner(BackgroundRequest request);

}  // namespace hone
