#include "plugins/cpu/fiber.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

namespace hone::cpu {
namespace {

using boost::context::detail::fcontext_t;
using boost::context::detail::transfer_t;

constexpr std::size_t kStackBytes = std::size_t{64} << 10;
constexpr std::size_t kSanitizedStackBytes = std::size_t{256} << 10;  // instrumented frames are several times as large
constexpr std::size_t kSlabFibers = 32;
// Each guard page splits a mapping, and Linux allows 65530 of them in a process (vm.max_map_count): beyond this many stacks go without.
constexpr std::size_t kMostGuards = 16384;
std::atomic<std::size_t> guards{0};
// A thread sanitizer's fiber takes a millisecond to make, so one is used again; not for ever, because frames that never return stay on its
// shadow of the stack, which holds 64 Ki of them.
constexpr std::uint32_t kTsanStarts = 4096;

/// The sanitizers' hooks, looked up because a sanitized kernel may run in a process that was not built with the sanitizer but has its
/// runtime preloaded. All null in an ordinary process.
struct SanitizerHooks {
  void (*start_switch)(void** fake_stack, const void* bottom, std::size_t size) = nullptr;
  void (*finish_switch)(void* fake_stack, const void** bottom, std::size_t* size) = nullptr;
  void (*unpoison)(const volatile void* address, std::size_t size) = nullptr;
  void* (*tsan_current)() = nullptr;
  void* (*tsan_create)(unsigned flags) = nullptr;
  void (*tsan_destroy)(void* fiber) = nullptr;
  void (*tsan_switch)(void* fiber, unsigned flags) = nullptr;
};

template <class Function>
void look_up(Function& function, const char* symbol) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, symbol));
}

const SanitizerHooks& hooks() {
  static const SanitizerHooks found = [] {
    SanitizerHooks h;
    look_up(h.start_switch, "__sanitizer_start_switch_fiber");
    look_up(h.finish_switch, "__sanitizer_finish_switch_fiber");
    look_up(h.unpoison, "__asan_unpoison_memory_region");
    look_up(h.tsan_current, "__tsan_get_current_fiber");
    look_up(h.tsan_create, "__tsan_create_fiber");
    look_up(h.tsan_destroy, "__tsan_destroy_fiber");
    look_up(h.tsan_switch, "__tsan_switch_to_fiber");
    return h;
  }();
  return found;
}

}  // namespace

void start(Fiber& fiber, void (*entry)(transfer_t)) {
  // What the fiber ran before never returned; its frames leave poison in the sanitizers' shadow of the stack.
  if (hooks().unpoison != nullptr) {
    hooks().unpoison(fiber.stack_low, fiber.stack_bytes);
  }
  if (hooks().tsan_create != nullptr && fiber.tsan_starts++ % kTsanStarts == 0) {
    if (fiber.tsan_fiber != nullptr) {
      hooks().tsan_destroy(fiber.tsan_fiber);
    }
    fiber.tsan_fiber = hooks().tsan_create(0);
  }
  fiber.asan_fake_stack = nullptr;
  fiber.context =
      boost::context::detail::make_fcontext(fiber.stack_low + fiber.stack_bytes - fiber.color, fiber.stack_bytes - fiber.color, entry);
}

const bool kSanitized = hooks().start_switch != nullptr || hooks().tsan_switch != nullptr;

void announce_leave(Fiber& from, Fiber& to, bool for_good) {
  if (hooks().start_switch != nullptr) {
    hooks().start_switch(for_good ? nullptr : &from.asan_fake_stack, to.stack_low, to.stack_bytes);
  }
  if (hooks().tsan_switch != nullptr) {
    hooks().tsan_switch(to.tsan_fiber, 0);
  }
}

void announce_arrival(Fiber& self, Fiber& previous) {
  if (hooks().finish_switch == nullptr) {
    return;
  }
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  hooks().finish_switch(self.asan_fake_stack, &bottom, &bytes);
  if (previous.stack_bytes == 0) {  // the thread's own stack: the sanitizer alone knows its bounds
    previous.stack_low = static_cast<std::byte*>(const_cast<void*>(bottom));
    previous.stack_bytes = bytes;
  }
}

void adopt_thread(Fiber& fiber) {
  fiber = Fiber{};
  if (hooks().tsan_current != nullptr) {
    fiber.tsan_fiber = hooks().tsan_current();
  }
}

bool StackPool::grow() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t stack_bytes = kSanitized ? kSanitizedStackBytes : kStackBytes;
  const std::size_t stride = stack_bytes + page;
  void* slab = mmap(nullptr, kSlabFibers * stride, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (slab == MAP_FAILED) {
    return false;
  }
  slabs_.push_back({slab, kSlabFibers * stride});
  for (std::size_t i = 0; i < kSlabFibers; ++i) {
    std::byte* low = static_cast<std::byte*>(slab) + i * stride;
    if (guards.fetch_add(1, std::memory_order_relaxed) < kMostGuards) {
      mprotect(low, page, PROT_NONE);
    }
    auto fiber = std::make_unique<Fiber>();
    fiber->stack_low = low + page;
    fiber->stack_bytes = stack_bytes;
    // Tops of equal stacks fall into one set of the L1 cache, and 1024 fibers evict each other's hot lines; colors spread them.
    constexpr std::size_t kColors = 16, kColorBytes = 256;
    fiber->color = fibers_.size() % kColors * kColorBytes;
    fibers_.push_back(std::move(fiber));
  }
  return true;
}

Fiber* StackPool::make() {
  if (handed_out_ == fibers_.size() && !grow()) {
    return nullptr;
  }
  return fibers_[handed_out_++].get();
}

StackPool::~StackPool() {
  for (const auto& fiber : fibers_) {
    if (fiber->tsan_fiber != nullptr) {
      hooks().tsan_destroy(fiber->tsan_fiber);
    }
    if (hooks().unpoison != nullptr) {
      hooks().unpoison(fiber->stack_low, fiber->stack_bytes);
    }
  }
  for (const Slab& slab : slabs_) {
    munmap(slab.address, slab.bytes);
  }
  guards.fetch_sub(fibers_.size(), std::memory_order_relaxed);
}

}  // namespace hone::cpu
