#pragma once
// A loop spread over threads.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace hone::compare {

/// Calls body(0) to body(count - 1), in any order, on `jobs` threads (0: as many as there are cores). `body` must not throw.
template <class Body>
void parallel_for(int jobs, std::size_t count, const Body& body) {
  const std::size_t wanted = jobs > 0 ? static_cast<std::size_t>(jobs) : std::max(1U, std::thread::hardware_concurrency());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      body(i);
    }
  };
  std::vector<std::jthread> helpers;
  for (std::size_t t = 1; t < std::min(wanted, count); ++t) {
    helpers.emplace_back(work);
  }
  work();
}

}  // namespace hone::compare
