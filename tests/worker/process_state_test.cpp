#include "engine/worker/process_state.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

namespace hone {
namespace {

/// Until threads that other test cases joined are not listed any more: the number of those that are there stays as it is.
void wait_for_ending_threads() {
  const auto listed = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  auto before = listed();
  for (int same = 0; same < 20; ++same) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const auto now = listed();
    same = now == before ? same : 0;
    before = now;
  }
}

}  // namespace

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
  wait_for_ending_threads();
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

TEST_CASE("a thread that was joined is none that goes on") {
  wait_for_ending_threads();
  for (int i = 0; i < 200; ++i) {
    const ProcessState before = ProcessState::now(true);
    std::thread([] {}).join();
    CHECK_FALSE(before.difference().has_value());
  }
}

}  // namespace hone
