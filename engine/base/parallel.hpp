#pragma once
// A loop spread over threads.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "engine/base/cores.hpp"

namespace hone {

/// Calls body(0) to body(count - 1), in any order, on so many threads (0: as many as this process may use cores) as the host lends.
/// What one of them throws is thrown once none runs any more; the others are not called then.
template <class Body>
void parallel_for(int threads, std::size_t count, const Body& body) {
  const std::size_t wanted = std::min(count, threads > 0 ? static_cast<std::size_t>(threads) : std::size_t{usable_cores()});
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr thrown;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) {
        body(i);
      }
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      thrown = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    try {
      while (helpers.size() + 1 < wanted) {
        helpers.emplace_back(work);
      }
    } catch (const std::system_error&) {  // the host lends no more
    }
    work();
  }
  if (thrown) {
    std::rethrow_exception(thrown);
  }
}

}  // namespace hone
