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

TEST_CASE("a thread keeps to the cores that it is given, of those that it has") {
  const std::vector<int> all = hone::usable_core_numbers();
  REQUIRE_FALSE(all.empty());
  std::vector<int> one, none;
  std::thread([&] {
    hone::run_on({100000});
    none = hone::usable_core_numbers();
    hone::run_on({all.back(), 100000});
    one = hone::usable_core_numbers();
  }).join();
  CHECK(none == all);  // no core of its own among them: it stays where it is
  CHECK(one == std::vector<int>{all.back()});
  CHECK(hone::usable_core_numbers() == all);
}

TEST_CASE("lists of cores are read as Linux writes them") {
  CHECK(hone::parse_cores("3") == std::vector<int>{3});
  CHECK(hone::parse_cores("0-2,8") == std::vector<int>{0, 1, 2, 8});
  for (const char* broken : {"", "x", "2-1", "0-", "1,,2", "-1", "0-99999999", "1\n2"}) {
    CAPTURE(broken);
    CHECK(hone::parse_cores(broken).empty());
  }
}
