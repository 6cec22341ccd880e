#pragma once
// A range around each launch, named after kernel and configuration, for profilers that collect NVTX ranges.

#include <atomic>
#include <string>

namespace hone {

/// What a profiler put in place for ranges of the calling thread; null: none is attached.
using PushRange = int (*)(const char* name);
using PopRange = int (*)();

/// Gives a profiler's library the means to collect ranges, as NVTX 3 does (its injection interface: nvtxDetail/nvtxInit.h of the CUDA
/// toolkit). False: it cannot be opened, is no such library, or does not collect ranges. The library stays open.
bool attach_profiler(const char* library);
/// The same, once, with the library that the profiler named in NVTX_INJECTION64_PATH when it started this process.
void attach_named_profiler();
/// Ranges go nowhere again.
void detach_profiler();

/// Costs a load and a branch while no profiler is attached.
class LaunchRange {
 public:
  explicit LaunchRange(const std::string& name) noexcept {
    if (const PushRange push = push_.load(std::memory_order_acquire); push != nullptr) {
      push(name.c_str());
      pop_ = all_pop_.load(std::memory_order_relaxed);
    }
  }
  ~LaunchRange() {
    if (pop_ != nullptr) {
      pop_();
    }
  }
  LaunchRange(const LaunchRange&) = delete;
  LaunchRange& operator=(const LaunchRange&) = delete;

 private:
  friend bool attach_profiler(const char* library);
  friend void detach_profiler();

  static std::atomic<PushRange> push_;
  static std::atomic<PopRange> all_pop_;  ///< set before push_
  PopRange pop_ = nullptr;
};

}  // namespace hone
