#include "engine/base/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <thread>

namespace hone {
namespace {

constexpr int kMostCores = CPU_SETSIZE;

/// The cores of "5" or "0-3"; none of anything else.
std::vector<int> parse_core_range(std::string_view range) {
  const auto number = [](std::string_view text) {
    int value = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && value < kMostCores ? value : -1;
  };
  const std::size_t dash = range.find('-');
  const int first = number(range.substr(0, dash)), last = dash == std::string_view::npos ? first : number(range.substr(dash + 1));
  std::vector<int> cores;
  for (int core = first; first >= 0 && core <= last; ++core) {
    cores.push_back(core);
  }
  return cores;
}

}  // namespace

unsigned usable_cores() {
  cpu_set_t set;  // holds 1024; the call fails where the kernel has more
  const bool known = sched_getaffinity(0, sizeof(set), &set) == 0;
  return std::max(1U, known ? static_cast<unsigned>(CPU_COUNT(&set)) : std::thread::hardware_concurrency());
}

std::vector<int> usable_core_numbers() {
  cpu_set_t set;
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int core = 0; core < kMostCores; ++core) {
      if (CPU_ISSET(core, &set)) {
        cores.push_back(core);
      }
    }
  }
  return cores;
}

void run_on(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : usable_core_numbers()) {
    if (std::ranges::find(cores, core) != cores.end()) {
      CPU_SET(core, &set);
    }
  }
  if (CPU_COUNT(&set) > 0) {
    static_cast<void>(sched_setaffinity(0, sizeof(set), &set));  // where it is not allowed, the thread stays where it is
  }
}

std::vector<int> parse_cores(std::string_view list) {
  std::vector<int> cores;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::vector<int> some = parse_core_range(list.substr(0, comma));
    if (some.empty()) {
      return {};
    }
    cores.insert(cores.end(), some.begin(), some.end());
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return cores;
}

}  // namespace hone
