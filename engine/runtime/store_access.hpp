#pragma once
// The store as an application's lookups see it: one that fails costs records, never a lookup.

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/store/store.hpp"

namespace hone {

/// Thread-safe.
class StoreAccess {
 public:
  StoreAccess() = default;
  /// Opens the store at `path` if there is one. One that cannot be opened is tried again later.
  StoreAccess(std::filesystem::path path, Trust trust, const StoreView& view = {});

  /// The store; null where there is none, or where it failed a moment ago.
  std::shared_ptr<Store> get();
  /// Whether it failed a moment ago: what is looked up now may be found later.
  [[nodiscard]] bool is_away() const;
  /// This process has made a store, where there was none.
  void look_again();
  /// What a lookup failed with: the store is left alone for some seconds.
  void note_failure(const std::string& message);

  /// Says something once.
  void warn(const std::string& message);
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  using Clock = std::chrono::steady_clock;
  void open();

  mutable std::mutex mutex_;
  std::filesystem::path path_;
  bool is_there_ = false;
  Trust trust_ = Trust::kOwn;
  StoreView view_;
  std::shared_ptr<Store> store_;
  Clock::time_point retry_at_;
  std::vector<std::string> warnings_;
};

}  // namespace hone
