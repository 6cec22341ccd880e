#pragma once
// What an application launches, counted for its workload file (EngineOptions::record_workload).

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "engine/base/thread_index.hpp"
#include "engine/store/workload.hpp"

namespace hone {

/// The launches of a problem: each thread counts its own, so that counting takes no lock and writes nothing that another thread writes.
class LaunchCounter {
 public:
  /// `ended` gets the sum when the last user of the problem goes.
  explicit LaunchCounter(std::shared_ptr<std::atomic<std::uint64_t>> ended) : ended_(std::move(ended)) {}
  LaunchCounter(const LaunchCounter&) = delete;
  LaunchCounter& operator=(const LaunchCounter&) = delete;
  ~LaunchCounter() { ended_->fetch_add(sum(), std::memory_order_relaxed); }

  void add() const {
    std::atomic<std::uint64_t>& own = cells_.here().launches;
    own.store(own.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // nobody else writes it
  }
  [[nodiscard]] std::uint64_t sum() const {
    std::uint64_t all = 0;
    cells_.each([&](const Cell& cell) { all += cell.launches.load(std::memory_order_relaxed); });
    return all;
  }

 private:
  /// A cache line for each thread.
  struct alignas(64) Cell {
    std::atomic<std::uint64_t> launches{0};
  };

  PerThread<Cell> cells_;
  std::shared_ptr<std::atomic<std::uint64_t>> ended_;
};

/// Thread-safe. A problem that was asked for takes a few hundred bytes for good, and its counters while it is loaded.
class WorkloadRecorder {
 public:
  explicit WorkloadRecorder(std::filesystem::path file) : file_(std::move(file)) {}

  /// What would stand in the way of writing, as far as it can be told before anything is written.
  [[nodiscard]] Result<void> check() const;
  /// The counter of a problem, whose own count is not looked at; the latest time that is known of it counts.
  std::shared_ptr<const LaunchCounter> counter(const WorkloadProblem& problem);
  /// Adds to the file what was counted since it was written last. Errors: as add_to_workload(); then it is still to be written.
  Result<void> write();

 private:
  struct Counted {
    WorkloadProblem problem;
    std::shared_ptr<std::atomic<std::uint64_t>> ended = std::make_shared<std::atomic<std::uint64_t>>(0);
    std::weak_ptr<const LaunchCounter> live = {};
    std::uint64_t written = 0;
    /// Momentarily less while a counter goes.
    [[nodiscard]] std::uint64_t launches() const {
      const std::shared_ptr<const LaunchCounter> counter = live.lock();
      return ended->load(std::memory_order_relaxed) + (counter != nullptr ? counter->sum() : 0);
    }
  };

  const std::filesystem::path file_;
  std::mutex mutex_;
  std::map<std::string, Counted> problems_;
};

}  // namespace hone
