#pragma once
// The problems of an engine that were asked for, up to a limit.

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/runtime/prepared.hpp"

namespace hone {

/// A problem that was asked for.
class AskedProblem {
 public:
  /// Held while the problem is looked up, compiled and loaded, so that it is loaded once, and nobody waits who asks for another one.
  std::mutex loading;

  [[nodiscard]] std::shared_ptr<Prepared> loaded() const {
    const std::lock_guard lock(mutex_);
    return loaded_;
  }
  /// What serves until it is loaded.
  [[nodiscard]] std::shared_ptr<Prepared> stand_in() const {
    const std::lock_guard lock(mutex_);
    return stand_in_;
  }
  /// Why the last attempt to load it failed, where nobody was told.
  [[nodiscard]] std::optional<Error> failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  void set_loaded(std::shared_ptr<Prepared> loaded) {
    const std::lock_guard lock(mutex_);
    loaded_ = std::move(loaded);
    stand_in_ = nullptr;
    failure_.reset();
  }
  void set_stand_in(std::shared_ptr<Prepared> stand_in) {
    const std::lock_guard lock(mutex_);
    stand_in_ = std::move(stand_in);
  }
  void set_failure(Error error) {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(error);
  }

 private:
  mutable std::mutex mutex_;  ///< held for moments
  std::shared_ptr<Prepared> loaded_, stand_in_;
  std::optional<Error> failure_;
};

/// Thread-safe. What leaves lives as long as its users.
class Problems {
 public:
  explicit Problems(std::size_t most) : most_(std::max<std::size_t>(most, 1)) {}

  /// A new one where there is none; the one that was asked for longest ago makes room.
  std::shared_ptr<AskedProblem> ask(const std::string& key) {
    std::shared_ptr<AskedProblem> leaving;  // goes when the lock is gone
    const std::lock_guard lock(mutex_);
    const auto [at, added] = places_.try_emplace(key);
    if (!added) {
      order_.splice(order_.begin(), order_, at->second);
      return at->second->second;
    }
    at->second = order_.emplace(order_.begin(), key, std::make_shared<AskedProblem>());
    if (order_.size() > most_) {
      leaving = std::move(order_.back().second);
      places_.erase(order_.back().first);
      order_.pop_back();
    }
    return order_.front().second;
  }
  /// Null: it was never asked for, or has left.
  [[nodiscard]] std::shared_ptr<AskedProblem> find(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    const auto at = places_.find(key);
    return at == places_.end() ? nullptr : at->second->second;
  }
  [[nodiscard]] std::vector<std::shared_ptr<AskedProblem>> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<AskedProblem>> problems;
    for (const auto& [key, problem] : order_) {
      problems.push_back(problem);
    }
    return problems;
  }

 private:
  using Order = std::list<std::pair<std::string, std::shared_ptr<AskedProblem>>>;  ///< the latest first

  const std::size_t most_;
  mutable std::mutex mutex_;
  Order order_;
  std::unordered_map<std::string, Order::iterator> places_;
};

}  // namespace hone
