#include "engine/tune/monitor.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

namespace hone {

TEST_CASE("one at a time is inside of a monitor, and others are while one works outside") {
  Monitor monitor;
  int inside = 0, most_inside = 0;
  std::barrier both_are_outside(2);  // which they never are if the inside is not left
  const auto take_turns = [&] {
    const Monitor::Inside here(monitor);
    for (int i = 0; i < 100; ++i) {
      most_inside = std::max(most_inside, ++inside);
      std::this_thread::yield();
      --inside;
      monitor.work_outside([&] { both_are_outside.arrive_and_wait(); });
    }
  };
  { const std::jthread one(take_turns), other(take_turns); }
  CHECK(most_inside == 1);
}

TEST_CASE("who waits inside of a monitor sees what another brought back, and does not wait for nobody") {
  Monitor monitor;
  std::vector<int> brought;
  std::atomic<bool> is_outside = false, may_return = false;
  const auto raise = [](std::atomic<bool>& flag) {
    flag = true;
    flag.notify_all();
  };
  const Monitor::Inside here(monitor);
  CHECK_FALSE(monitor.wait_for_another());
  const std::jthread other([&] {
    const Monitor::Inside there(monitor);
    brought.push_back(monitor.work_outside([&] {
      raise(is_outside);
      may_return.wait(false);
      return 7;
    }));
  });
  monitor.work_outside([&] { is_outside.wait(false); });
  const std::jthread third([&] {
    const Monitor::Inside there(monitor);  // not before this thread waits
    raise(may_return);
  });
  int waits = 0;
  while (monitor.wait_for_another()) {
    ++waits;
  }
  CHECK(waits > 0);
  CHECK(brought == std::vector<int>{7});
}

}  // namespace hone
