#include "engine/runtime/lookup_cache.hpp"

#include <doctest/doctest.h>

#include <array>

#include "engine/runtime/problems.hpp"

namespace hone {
namespace {

using Pair = std::array<std::int64_t, 2>;

}  // namespace

TEST_CASE("a cache finds what was put under the same extents alone, and what was put last") {
  LookupCache<int> cache;
  CHECK(cache.find(Pair{1, 2}) == nullptr);
  cache.put(Pair{1, 2}, 12, 64);
  cache.put(Pair{2, 1}, 21, 64);
  REQUIRE(cache.find(Pair{1, 2}) != nullptr);
  CHECK(*cache.find(Pair{1, 2}) == 12);
  CHECK(*cache.find(Pair{2, 1}) == 21);
  CHECK(cache.find(Pair{1, 1}) == nullptr);
  cache.put(Pair{1, 2}, 13, 64);
  CHECK(*cache.find(Pair{1, 2}) == 13);
}

TEST_CASE("a cache grows with what is put, keeps it all, and stays within its limit") {
  LookupCache<std::int64_t> cache;
  constexpr std::int64_t kEntries = 300;
  for (std::int64_t i = 0; i < kEntries; ++i) {
    cache.put(Pair{i, i % 7}, i, 1 << 20);
  }
  for (std::int64_t i = 0; i < kEntries; ++i) {
    REQUIRE(cache.find(Pair{i, i % 7}) != nullptr);
    CHECK(*cache.find(Pair{i, i % 7}) == i);
  }
  LookupCache<std::int64_t> small;
  for (std::int64_t i = 0; i < kEntries; ++i) {
    small.put(Pair{i, 0}, i, 32);
    CHECK(*small.find(Pair{i, 0}) == i);
  }
  CHECK(small.places() <= 32);
}

TEST_CASE("in a full cache the entry that was asked for longest ago makes room") {
  LookupCache<int> cache;
  for (int i = 0; i < 4; ++i) {
    cache.put(Pair{i, 0}, i, 4);
  }
  cache.find(Pair{0, 0});
  cache.put(Pair{4, 0}, 4, 4);
  CHECK(cache.find(Pair{1, 0}) == nullptr);
  for (const int i : {0, 2, 3, 4}) {
    CHECK(cache.find(Pair{i, 0}) != nullptr);
  }
}

TEST_CASE("an engine's problems: the one that was asked for longest ago leaves, and lives as long as its users") {
  Problems problems(2);
  const std::shared_ptr<AskedProblem> first = problems.ask("first");
  problems.ask("second");
  CHECK(problems.ask("first") == first);
  problems.ask("third");
  CHECK(problems.find("second") == nullptr);
  CHECK(problems.find("first") == first);
  problems.ask("fourth");
  problems.ask("fifth");
  CHECK(problems.find("first") == nullptr);
  CHECK(first->loaded() == nullptr);
  CHECK(problems.ask("first") != first);
}

}  // namespace hone
