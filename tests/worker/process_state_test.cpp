#include "engine/worker/process_state.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

namespace hone {

TEST_CASE("a limit that was changed is named, and one that was put back is not") {
  const ProcessState before = ProcessState::now(true);
  CHECK_FALSE(before.difference().has_value());
  rlimit files{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &files) == 0);
  const rlimit fewer{files.rlim_cur - 1, files.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &fewer) == 0);
  CHECK(before.difference() == "it changed the limit of open files of its process");
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &files) == 0);
  CHECK_FALSE(before.difference().has_value());
}

TEST_CASE("a thread that goes on is seen where threads are watched") {
  const ProcessState watched = ProcessState::now(true), unwatched = ProcessState::now(false);
  std::atomic<bool> stop{false};
  std::thread left([&] {
    while (!stop) {
      std::this_thread::yield();
    }
  });
  CHECK(watched.difference() == "it left 1 thread running");
  CHECK_FALSE(unwatched.difference().has_value());
  stop = true;
  left.join();
}

}  // namespace hone
