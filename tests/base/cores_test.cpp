#include "engine/base/cores.hpp"

#include <doctest/doctest.h>
#include <sched.h>

#include <thread>

TEST_CASE("cores that are taken from a process do not count") {
  unsigned seen = 0;
  std::thread([&seen] {  // of one thread alone: the rest of the tests keep theirs
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
    REQUIRE(sched_setaffinity(0, sizeof(one), &one) == 0);
    seen = hone::usable_cores();
  })
      .join();
  CHECK(seen == 1);
  CHECK(hone::usable_cores() >= 1);
}
