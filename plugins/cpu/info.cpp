#include "plugins/cpu/info.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "engine/base/cores.hpp"
#include "plugins/cpu/block_runner.hpp"
#include "plugins/cpu/thread_pool.hpp"

namespace hone::cpu {
namespace {

std::string model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) {
      const std::size_t colon = line.find(": ");
      return colon == std::string::npos ? "unknown CPU" : line.substr(colon + 2);
    }
  }
  return "unknown CPU";
}

/// The microarchitecture level of the x86-64 psABI: what -march=native may use, in coarse steps.
std::string architecture() {
#if defined(__x86_64__)
  const auto all = [](std::initializer_list<bool> features) {
    return std::all_of(features.begin(), features.end(), [](bool f) { return f; });
  };
  const bool v2 = all({__builtin_cpu_supports("sse4.2") != 0, __builtin_cpu_supports("popcnt") != 0, __builtin_cpu_supports("ssse3") != 0});
  const bool v3 = v2 && all({__builtin_cpu_supports("avx2") != 0, __builtin_cpu_supports("fma") != 0, __builtin_cpu_supports("bmi2") != 0});
  const bool v4 = v3 && all({__builtin_cpu_supports("avx512f") != 0, __builtin_cpu_supports("avx512bw") != 0,
                             __builtin_cpu_supports("avx512dq") != 0, __builtin_cpu_supports("avx512vl") != 0});
  return v4 ? "x86-64-v4" : v3 ? "x86-64-v3" : v2 ? "x86-64-v2" : "x86-64";
#else
  utsname system{};
  return uname(&system) == 0 ? system.machine : "unknown";
#endif
}

std::int64_t positive_sysconf(int name) { return std::max<std::int64_t>(0, sysconf(name)); }

std::int64_t cache_bytes() {
  for (const int level : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    if (const std::int64_t bytes = positive_sysconf(level); bytes > 0) {
      return bytes;
    }
  }
  return std::int64_t{8} << 20;
}

}  // namespace

DeviceInfo describe_host(const std::string& compiler) {
  const auto cores = static_cast<std::int64_t>(usable_cores());
  DeviceInfo info;
  info.id = info.plugin = "cpu";
  info.product = fmt::format("{} ({} {})", model_name(), cores, cores == 1 ? "core" : "cores");
  info.architecture = architecture();
  // Limits of a block are those of sm_90, so that a kernel file's constraints mean the same here; compute_capability 0 tells the two apart.
  info.properties = {
      {"compute_capability", 0},
      {"l2_bytes", cache_bytes()},
      {"memory", positive_sysconf(_SC_PHYS_PAGES) * positive_sysconf(_SC_PAGESIZE)},
      {"multiprocessors", cores},
      {"registers_per_multiprocessor", 65536},
      {"shared_memory_per_block", 232448},
      {"shared_memory_per_multiprocessor", 233472},
      {"threads_per_block", kMostThreads},
      {"threads_per_multiprocessor", 2048},
      {"warp_size", kWarpLanes},
  };
  utsname system{};
  info.environment = {{"compiler", compiler}, {"kernel", uname(&system) == 0 ? system.release : "unknown"}};
  info.compile_overlaps = false;
  return info;
}

}  // namespace hone::cpu
