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
#include "hone/engine.hpp"

namespace hone {

class BackgroundTuner {
 public:
  /// Called on the tuner's thread once the store has a record of the problem that was wanted under `key`.
  using Tuned = std::function<void(const std::string& key)>;

  /// `max_error`: EngineOptions::max_error.
  BackgroundTuner(BackgroundTuning settings, double max_error, Registry::Found device, std::unique_ptr<Store> store, Tuned tuned);
  /// Stops the session under way, which a later process goes on with.
  ~BackgroundTuner() = default;
  BackgroundTuner(const BackgroundTuner&) = delete;
  BackgroundTuner& operator=(const BackgroundTuner&) = delete;

  /// Asks for a problem; one that is asked for more often comes first. The spec must live as long as the tuner.
  void want(const std::string& key, const KernelSpec& spec, const Problem& problem);
  [[nodiscard]] BackgroundReport report() const;

 private:
  struct Wanted {
    std::string key;
    const KernelSpec* spec = nullptr;
    Problem problem;
    std::size_t times = 1;
  };
  enum class End { kTuned, kElsewhere };

  void run(const std::stop_token& stop);
  [[nodiscard]] Wanted most_wanted() const;
  Result<End> guarded(const Wanted& wanted, const std::stop_token& stop);
  Result<End> tune_one(const Wanted& wanted, const std::stop_token& stop);
  Result<std::vector<SessionInfo>> sessions_of(const Wanted& wanted);
  void settle(const Wanted& wanted, const Result<End>& end);

  const BackgroundTuning settings_;
  const double max_error_;
  const Registry::Found device_;
  const std::unique_ptr<Store> store_;
  const Tuned tuned_;

  mutable std::mutex mutex_;  ///< of all below
  std::condition_variable_any changed_;
  std::vector<Wanted> waiting_;    ///< the one under way included
  std::set<std::string> settled_;  ///< tuned or failed: not tried again
  BackgroundReport report_;
  std::jthread thread_;  ///< last: it ends before anything that it uses
};

}  // namespace hone
