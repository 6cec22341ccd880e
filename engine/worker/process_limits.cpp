#include "engine/worker/process_limits.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace hone {
namespace {

constexpr rlim_t kLeastMemory = rlim_t{1} << 30;
constexpr rlim_t kMostFile = rlim_t{256} << 20;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimitsMemory = false;
#else
constexpr bool kLimitsMemory = true;
#endif

void lower(int resource, rlim_t most) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) == 0) {
    limit.rlim_cur = std::min(limit.rlim_cur, most);
    ::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
  }
}

}  // namespace

void limit_this_process(std::size_t memory, CountedMemory counted) {
  const auto host =
      static_cast<rlim_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES))) * static_cast<rlim_t>(std::max(1L, ::sysconf(_SC_PAGESIZE)));
  if (kLimitsMemory) {
    lower(counted == CountedMemory::kWritable ? RLIMIT_DATA : RLIMIT_AS,
          host == 0 ? rlim_t{memory} : std::min(rlim_t{memory}, std::max(kLeastMemory, host / 2)));
  }
  lower(RLIMIT_FSIZE, kMostFile);
  lower(RLIMIT_CORE, 0);
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace hone
