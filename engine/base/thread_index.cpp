#include "engine/base/thread_index.hpp"

#include <cstdint>
#include <limits>

namespace hone {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max(), kBits = 64;

/// A bit for each number that is taken. Without a lock, since a fork could inherit that in the hands of a thread that it does not have.
class Numbers {
 public:
  std::size_t take() {
    for (std::size_t word = 0; word < taken_.size(); ++word) {
      std::uint64_t bits = taken_[word].load(std::memory_order_relaxed);
      while (~bits != 0) {
        const auto bit = static_cast<std::size_t>(std::countr_one(bits));
        if (taken_[word].compare_exchange_weak(bits, bits | std::uint64_t{1} << bit, std::memory_order_acquire,
                                               std::memory_order_relaxed)) {
          return word * kBits + bit;
        }
      }
    }
    return beyond_.fetch_add(1, std::memory_order_relaxed);
  }

  void give_back(std::size_t number) {
    if (number < taken_.size() * kBits) {
      taken_[number / kBits].fetch_and(~(std::uint64_t{1} << number % kBits), std::memory_order_release);
    }
  }

 private:
  std::array<std::atomic<std::uint64_t>, 1024> taken_{};
  std::atomic<std::size_t> beyond_{1024 * kBits};  ///< of so many threads at once; these are not given out again
};

Numbers numbers;
thread_local std::size_t current = kNone;
thread_local bool ending = false;

/// Gives the number back with the thread. What asks later, another object that goes with the thread, gets a number for good.
struct Lease {
  Lease() = default;
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    numbers.give_back(current);
    current = kNone;
    ending = true;
  }
};

std::size_t take() {
  current = numbers.take();
  if (!ending) {
    thread_local const Lease lease;
  }
  return current;
}

}  // namespace

std::size_t thread_index() { return current != kNone ? current : take(); }

}  // namespace hone
