#include "engine/runtime/store_access.hpp"

#include <algorithm>

namespace hone {
namespace {

/// A locked store costs the lookup that finds it so a wait, and only one lookup in so long.
constexpr std::chrono::seconds kPause{5};

}  // namespace

StoreAccess::StoreAccess(std::filesystem::path path, Trust trust, const StoreView& view)
    : path_(std::move(path)), trust_(trust), view_(view) {
  look_again();
}

void StoreAccess::look_again() {
  const std::lock_guard lock(mutex_);
  std::error_code ignored;
  if (!is_there_ && std::filesystem::exists(path_, ignored)) {
    is_there_ = true;
    open();
  }
}

std::shared_ptr<Store> StoreAccess::get() {
  const std::lock_guard lock(mutex_);
  if (!is_there_ || Clock::now() < retry_at_) {
    return nullptr;
  }
  if (store_ == nullptr) {
    open();
  }
  return store_;
}

bool StoreAccess::is_away() const {
  const std::lock_guard lock(mutex_);
  return is_there_ && Clock::now() < retry_at_;
}

void StoreAccess::note_failure(const std::string& message) {
  warn(message);
  const std::lock_guard lock(mutex_);
  retry_at_ = Clock::now() + kPause;
}

void StoreAccess::warn(const std::string& message) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(warnings_, message) == warnings_.end()) {
    warnings_.push_back(message);
  }
}

std::vector<std::string> StoreAccess::warnings() const {
  const std::lock_guard lock(mutex_);
  return warnings_;
}

/// An application that upgraded the store would shut out those that come with an older Hone.
void StoreAccess::open() {
  if (Result<std::unique_ptr<Store>> opened = open_store(path_, StoreMode::kAsItIs, trust_, view_)) {
    store_ = std::move(opened).value();
    return;
  } else if (std::ranges::find(warnings_, opened.error().message) == warnings_.end()) {
    warnings_.push_back(opened.error().message);
  }
  retry_at_ = Clock::now() + kPause;
}

}  // namespace hone
