#include "engine/base/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace hone {

unsigned usable_cores() {
  cpu_set_t set;  // holds 1024; the call fails where the kernel has more
  const bool known = sched_getaffinity(0, sizeof(set), &set) == 0;
  return std::max(1U, known ? static_cast<unsigned>(CPU_COUNT(&set)) : std::thread::hardware_concurrency());
}

}  // namespace hone
