#pragma once
// Tensor maps that were encoded for earlier launches: a call of the driver takes as long as half a launch, and addresses come again.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <span>

#include "plugins/cuda/driver_api.hpp"

namespace hone::cuda {

/// The maps of a pass for the first few sets of addresses; those stay, so that launches may read them without a lock. Thread-safe.
class EncodedMaps {
 public:
  static constexpr std::size_t kMostMaps = 16, kSets = 16;

  explicit EncodedMaps(std::size_t maps)
      : sets_(std::make_unique<std::array<Set, kSets>>()), maps_(std::make_unique<EncodedTensorMap[]>(kSets * maps)), count_(maps) {}

  /// Null: there are none.
  [[nodiscard]] const EncodedTensorMap* find(std::span<const void* const> addresses) const {
    for (std::size_t i = 0; i < kSets; ++i) {
      const Set& set = (*sets_)[i];
      if (set.state.load(std::memory_order_acquire) != State::kFull) {
        return nullptr;
      }
      if (std::ranges::equal(addresses, std::span(set.addresses).first(addresses.size()))) {
        return &maps_[i * count_];
      }
    }
    return nullptr;
  }

  /// Keeps them while there is room.
  void put(std::span<const void* const> addresses, std::span<const EncodedTensorMap> maps) {
    for (std::size_t i = 0; i < kSets; ++i) {
      Set& set = (*sets_)[i];
      State empty = State::kEmpty;
      if (set.state.compare_exchange_strong(empty, State::kBeingFilled, std::memory_order_acquire)) {
        std::ranges::copy(addresses, set.addresses.begin());
        std::ranges::copy(maps, &maps_[i * count_]);
        set.state.store(State::kFull, std::memory_order_release);
        return;
      }
    }
  }

 private:
  enum class State : int { kEmpty, kBeingFilled, kFull };
  struct Set {
    std::atomic<State> state{State::kEmpty};
    std::array<const void*, kMostMaps> addresses{};
  };

  std::unique_ptr<std::array<Set, kSets>> sets_;
  std::unique_ptr<EncodedTensorMap[]> maps_;  ///< of each set in turn
  std::size_t count_;
};

}  // namespace hone::cuda
