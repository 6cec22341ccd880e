#include "engine/runtime/launch_range.hpp"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>

namespace hone {
namespace {

// What NVTX 3 agreed with profilers: a profiler gets tables of the places where it may put functions of its own.
using AnyFunction = void (*)();
constexpr int kModules = 7, kCoreModule = 1;  // core, CUDA, OpenCL, CUDA runtime, domains, synchronization
constexpr std::size_t kRangePush = 9, kRangePop = 11, kPlaces = 16;
constexpr std::array<unsigned, kModules> kSizes{0, 16, 9, 15, 7, 16, 7};
constexpr std::uint32_t kCallbacks = 1, kVersion = 3;  // of tables

struct Callbacks {
  std::size_t bytes;
  int (*module_functions)(int module, AnyFunction*** table, unsigned* size);
};
struct VersionInfo {
  std::size_t bytes;
  std::uint32_t version, reserved;
  void (*set_profilers_version)(std::uint32_t version);
};
using GetTable = const void* (*)(std::uint32_t table);
using Initialize = int (*)(GetTable);

AnyFunction range_push = nullptr, range_pop = nullptr, unused = nullptr;

/// All that a profiler may fill; what is not about ranges goes nowhere.
int module_functions(int module, AnyFunction*** table, unsigned* size) {
  static std::array<std::array<AnyFunction*, kPlaces>, kModules> places;
  if (module <= 0 || module >= kModules) {
    return 0;
  }
  auto& of_module = places[static_cast<std::size_t>(module)];
  of_module.fill(&unused);
  of_module[0] = nullptr;
  if (module == kCoreModule) {
    of_module[kRangePush] = &range_push;
    of_module[kRangePop] = &range_pop;
  }
  if (table != nullptr) {
    *table = of_module.data();
  }
  if (size != nullptr) {
    *size = kSizes[static_cast<std::size_t>(module)];
  }
  return 1;
}

const void* export_table(std::uint32_t table) {
  static const Callbacks callbacks{sizeof(Callbacks), module_functions};
  static const VersionInfo version{sizeof(VersionInfo), 3, 0, [](std::uint32_t) {}};
  return table == kCallbacks ? static_cast<const void*>(&callbacks) : table == kVersion ? static_cast<const void*>(&version) : nullptr;
}

}  // namespace

std::atomic<PushRange> LaunchRange::push_{nullptr};
std::atomic<PopRange> LaunchRange::all_pop_{nullptr};

bool attach_profiler(const char* library) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  void* const opened = ::dlopen(library, RTLD_LAZY);
  const auto initialize = opened == nullptr ? nullptr : reinterpret_cast<Initialize>(::dlsym(opened, "InitializeInjectionNvtx2"));
  if (initialize == nullptr) {
    return false;
  }
  range_push = range_pop = nullptr;
  if (initialize(export_table) != 1 || range_push == nullptr || range_pop == nullptr) {
    return false;
  }
  LaunchRange::all_pop_.store(reinterpret_cast<PopRange>(range_pop));
  LaunchRange::push_.store(reinterpret_cast<PushRange>(range_push), std::memory_order_release);
  return true;
}

void attach_named_profiler() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (const char* const library = std::getenv("NVTX_INJECTION64_PATH"); library != nullptr && *library != '\0') {
      attach_profiler(library);
    }
  });
}

void detach_profiler() { LaunchRange::push_.store(nullptr); }

}  // namespace hone
