#pragma once
// A number for each thread, and something for each thread by it.

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>

namespace hone {

/// A small number that no other living thread has; those of threads that ended are given out again, and what such a thread did happened
/// before what its successor does.
std::size_t thread_index();

/// A T for each thread that asks. Not reclaimed before this is: a thread that ended leaves its T to its successor in the number.
template <class T>
class PerThread {
 public:
  PerThread() = default;
  PerThread(const PerThread&) = delete;
  PerThread& operator=(const PerThread&) = delete;
  ~PerThread() {
    for (std::size_t c = 0; c < kChunks; ++c) {
      std::unique_ptr<T[]>(chunks_[c].load(std::memory_order_acquire));
    }
  }

  /// That of the calling thread. Takes no lock; allocates where the thread is the first of its part of the numbers.
  T& here() const {
    const std::size_t index = thread_index();
    const auto chunk = static_cast<std::size_t>(std::bit_width(index / kFirst + 1)) - 1;
    const std::size_t at = index - kFirst * ((std::size_t{1} << chunk) - 1);
    T* const all = chunks_.at(chunk).load(std::memory_order_acquire);
    return (all != nullptr ? all : make(chunk))[at];
  }

  /// Calls visit(const T&) for all that there are, also of threads that ended or never asked; those threads may be changing theirs.
  template <class Visit>
  void each(const Visit& visit) const {
    for (std::size_t chunk = 0; chunk < kChunks; ++chunk) {
      const T* const all = chunks_[chunk].load(std::memory_order_acquire);
      for (std::size_t i = 0; all != nullptr && i < kFirst << chunk; ++i) {
        visit(all[i]);
      }
    }
  }

 private:
  static constexpr std::size_t kFirst = 16, kChunks = 40;  ///< a chunk is twice as long as the one before

  T* make(std::size_t chunk) const {
    auto made = std::make_unique<T[]>(kFirst << chunk);
    T* expected = nullptr;
    return chunks_[chunk].compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel) ? made.release() : expected;
  }

  mutable std::array<std::atomic<T*>, kChunks> chunks_{};
};

}  // namespace hone
