#pragma once
// Stacks and switches: the mechanics under the threads of a block.

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace hone::cpu {

/// A flow of control with a stack of its own, or (default constructed) the one of the operating system's thread.
struct Fiber {
  boost::context::detail::fcontext_t context = nullptr;
  std::byte* stack_low = nullptr;
  std::size_t stack_bytes = 0;
  std::size_t color = 0;            ///< bytes left free at the top, see StackPool
  void* asan_fake_stack = nullptr;  ///< AddressSanitizer's memory of this fiber while it does not run
  void* tsan_fiber = nullptr;       ///< ThreadSanitizer's
  std::uint32_t tsan_starts = 0;    ///< how often it was started
};

/// Makes `fiber` start in `entry` at the next switch to it; whatever it ran before is forgotten.
void start(Fiber& fiber, void (*entry)(boost::context::detail::transfer_t));

/// Whether a sanitizer watches this process and has to be told of every switch.
extern const bool kSanitized;
void announce_leave(Fiber& from, Fiber& to, bool for_good);
void announce_arrival(Fiber& self, Fiber& previous);

/// Leaves `from` and continues `to`. The side that continues must call `arrived` with what it got, before anything else.
inline boost::context::detail::transfer_t leave(Fiber& from, Fiber& to, void* data, bool for_good) {
  if (kSanitized) [[unlikely]] {
    announce_leave(from, to, for_good);
  }
  return boost::context::detail::jump_fcontext(to.context, data);
}

inline void arrived(Fiber& self, Fiber& previous, boost::context::detail::transfer_t transfer) {
  previous.context = transfer.fctx;
  if (kSanitized) [[unlikely]] {
    announce_arrival(self, previous);
  }
}

/// Binds a default constructed fiber to the running thread of the operating system.
void adopt_thread(Fiber& fiber);

/// Owns stacks, each with a guard page below it, and keeps them for the next block.
class StackPool {
 public:
  StackPool() = default;
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;
  ~StackPool();

  /// A fiber with a stack of its own; nullptr if the system has no memory left. It lives as long as the pool.
  Fiber* make();

 private:
  struct Slab {
    void* address = nullptr;
    std::size_t bytes = 0;
  };
  bool grow();

  std::vector<Slab> slabs_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::size_t handed_out_ = 0;
};

}  // namespace hone::cpu
