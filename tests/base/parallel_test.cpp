// A loop spread over threads.
#include "engine/base/parallel.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace hone {

TEST_CASE("each index is visited once, on however many threads") {
  for (const int threads : {0, 1, 3, 64}) {
    std::vector<std::atomic<int>> visits(100);
    parallel_for(threads, visits.size(), [&](std::size_t i) { ++visits[i]; });
    for (const std::atomic<int>& count : visits) {
      CHECK(count == 1);
    }
  }
  parallel_for(0, 0, [](std::size_t) { throw std::logic_error("there is nothing to visit"); });
}

TEST_CASE("what a body throws is thrown where the loop was begun") {
  for (const int threads : {1, 4}) {
    const auto loop = [&] {
      parallel_for(threads, 1000, [](std::size_t i) {
        if (i == 7) {
          throw std::runtime_error("the seventh");
        }
      });
    };
    CHECK_THROWS_WITH(loop(), "the seventh");
  }
}

}  // namespace hone
