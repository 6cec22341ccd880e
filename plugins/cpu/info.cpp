#include "plugins/cpu/info.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
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

/// $HONE_CPU_DEVICES: into how many devices the host's cores are divided; 1 unless it is set to a number above.
int device_count() {
  constexpr int kMost = 64;
  const char* const variable = std::getenv("HONE_CPU_DEVICES");
  return variable == nullptr ? 1 : std::clamp(std::atoi(variable), 1, kMost);
}

DeviceInfo describe(const std::string& id, std::int64_t cores, const std::string& compiler) {
  DeviceInfo info;
  info.id = id;
  info.plugin = "cpu";
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

}  // namespace

std::vector<DeviceInfo> describe_host(const std::string& compiler) {
  const auto cores = static_cast<std::int64_t>(usable_cores());
  const int devices = device_count();
  if (devices == 1) {
    return {describe("cpu", cores, compiler)};
  }
  std::vector<DeviceInfo> all;
  for (int i = 0; i < devices; ++i) {
    all.push_back(describe(fmt::format("cpu:{}", i), std::max<std::int64_t>(1, cores / devices), compiler));
  }
  return all;
}

std::vector<int> cores_of(const DeviceInfo& info) {
  const std::size_t colon = info.id.find(':');
  const std::vector<int> cores = usable_core_numbers();
  if (colon == std::string::npos || cores.empty()) {
    return {};
  }
  const auto each = static_cast<std::size_t>(info.properties.at("multiprocessors"));
  const std::size_t first = each * static_cast<std::size_t>(std::atoi(info.id.c_str() + colon + 1));
  std::vector<int> own;
  for (std::size_t i = 0; i < each; ++i) {
    own.push_back(cores[(first + i) % cores.size()]);  // more devices than cores share them
  }
  return own;
}

}  // namespace hone::cpu
