#include "engine/base/thread_index.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <barrier>
#include <thread>
#include <vector>

namespace hone {

TEST_CASE("threads that live at once have different numbers, and each keeps its own") {
  constexpr std::size_t kThreads = 24;
  std::vector<std::size_t> numbers(kThreads);
  numbers.push_back(thread_index());
  std::barrier all(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      numbers[t] = thread_index();
      all.arrive_and_wait();
      numbers[t] = thread_index() == numbers[t] ? numbers[t] : 0;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(numbers.back() == thread_index());
  std::ranges::sort(numbers);
  CHECK(std::ranges::adjacent_find(numbers) == numbers.end());
}

TEST_CASE("the number of a thread that ended is given out again, with what belongs to it") {
  PerThread<int> values;
  for (int i = 0; i < 100; ++i) {
    std::thread([&] { ++values.here(); }).join();
  }
  std::size_t number = 0;
  int sum = 0;
  std::thread([&] {
    number = thread_index();
    sum = values.here();
  }).join();
  CHECK(number < 100);
  CHECK(sum == 100);
  CHECK(values.here() == 0);
}

TEST_CASE("each of many threads has a place of its own") {
  constexpr int kThreads = 100;  // of several chunks
  PerThread<int> values;
  std::barrier all(kThreads);
  std::vector<std::thread> threads;
  std::vector<int> found(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      values.here() = t;
      all.arrive_and_wait();
      found[static_cast<std::size_t>(t)] = values.here();
      all.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (int t = 0; t < kThreads; ++t) {
    CHECK(found[static_cast<std::size_t>(t)] == t);
  }
}

TEST_CASE("what many threads have is visited, each once") {
  constexpr int kThreads = 100;
  PerThread<int> values;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] { ++values.here(); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  int sum = 0;
  values.each([&](int value) { sum += value; });
  CHECK(sum == kThreads);
}

}  // namespace hone
