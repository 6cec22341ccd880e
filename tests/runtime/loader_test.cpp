#include "engine/runtime/loader.hpp"

#include <doctest/doctest.h>

#include <future>

namespace hone {

TEST_CASE("a task is added once at a time, and whoever was refused one is told when another may be added") {
  std::promise<int> done;
  int ran = 0;
  Loader loader;
  const auto again = [&] {
    loader.add(
        "a", [&] { ++ran; }, [&] { done.set_value(ran); });
  };
  const auto work = [&] {
    ++ran;
    loader.add(
        "a", [&] { ran = 100; }, [] {});  // refused: this one runs
  };
  loader.add("a", work, again);
  auto result = done.get_future();
  REQUIRE(result.wait_for(std::chrono::minutes(1)) == std::future_status::ready);
  CHECK(result.get() == 2);
}

}  // namespace hone
