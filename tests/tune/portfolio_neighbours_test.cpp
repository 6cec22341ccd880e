// What is one parameter from the fastest at measured shapes, and from what is expected to be at others.
#include "engine/tune/portfolio_neighbours.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "engine/kernel/configuration_text.hpp"
#include "tests/tune/copy_kernel.hpp"

namespace hone {
namespace {

constexpr double kOfSession = 5.0;  // of a session

std::string text_of(std::int64_t wide, std::int64_t block) {
  return text(test::copy_kernel().parameters, Configuration{{Value(wide), Value(block)}});
}

class Neighbouring : public test::CopyRange {
 public:
  PortfolioNeighbours neighbours{table, shapes, proposals};
};

}  // namespace

TEST_CASE("at measured shapes what is one parameter from the fastest is timed beside it") {
  Neighbouring tried;
  std::set<std::int64_t> at;
  std::map<std::int64_t, std::set<std::string>> others;
  for (int plans = 0; const auto next = tried.neighbours.next({}, 3, kOfSession); ++plans) {
    REQUIRE(plans < 200);
    const std::int64_t n = next->shape.front().second;
    at.insert(n);
    const std::vector<Configuration>& timed = next->first.at("copy");
    REQUIRE(timed.size() >= 2);
    CHECK(timed.size() <= 3);
    CHECK(timed.front() == Configuration{{Value(1), Value(32)}});
    for (std::size_t i = 1; i < timed.size(); ++i) {
      const bool differs_in_one = (timed[i].values[0] == Value(1)) != (timed[i].values[1] == Value(32));
      CHECK(differs_in_one);
      CHECK(n % timed[i].values[0].integer() == 0);  // it is legal
      others[n].insert(text_of(timed[i].values[0].integer(), timed[i].values[1].integer()));
    }
  }
  CHECK(at.size() > 8);
  CHECK(others[768] == std::set{text_of(2, 32), text_of(4, 32), text_of(1, 64)});
}

TEST_CASE("what was timed at a shape is not tried there, and what a device fails to time twice at most") {
  Neighbouring tried;
  for (std::int64_t n = 64; n <= 64 * 12; n += 64) {
    tried.measure(n, 2, 20.0);
  }
  std::map<std::pair<std::int64_t, std::string>, int> times;
  for (int plans = 0; const auto next = tried.neighbours.next({}, 9, kOfSession); ++plans) {
    REQUIRE(plans < 200);
    for (const Configuration& one : next->first.at("copy")) {
      const std::string what = text_of(one.values[0].integer(), one.values[1].integer());
      CHECK(what != text_of(2, 32));
      CHECK((what == text_of(1, 32) || ++times[{next->shape.front().second, what}] <= 2));
    }
  }
  CHECK(times.size() > 8);
}

TEST_CASE("of two shapes the one with more to do is chosen, and none where something is measured or nothing may be beside the fastest") {
  Neighbouring tried;
  CHECK_FALSE(tried.neighbours.next({}, 1, kOfSession));
  std::int64_t sum = 0;
  for (int i = 0; i < 8; ++i) {
    const auto next = tried.neighbours.next({}, 2, kOfSession);
    REQUIRE(next);
    sum += next->shape.front().second;
  }
  CHECK(sum > 8 * 389);  // the mean of all
  Neighbouring reserved;
  for (std::int64_t n = 63; n <= 64 * 12; ++n) {
    reserved.shapes.reserve({{"n", n}});
  }
  CHECK_FALSE(reserved.neighbours.next({}, 2, kOfSession));
}

TEST_CASE("what trees expect most of is tried first, at the few shapes where they do, and no more once it was") {
  Neighbouring tried;
  tried.measure(64, 4, 10.5);
  tried.measure(128, 4, 10.5);
  Portfolio so_far;
  so_far.trees = test::copy_trees({{.by = 0.2}});
  std::set<std::int64_t> at;
  for (int i = 0; i < 3; ++i) {
    const auto next = tried.neighbours.next(so_far, 2, kOfSession);
    REQUIRE(next);
    CHECK(next->first.at("copy") == std::vector<Configuration>{{{Value(1), Value(32)}}, {{Value(4), Value(32)}}});
    at.insert(next->shape.front().second);
  }
  CHECK(at.size() == 3);
  CHECK(*at.begin() > 128);
  for (const std::int64_t n : at) {
    tried.measure(n, 4, 11.0);
  }
  int others = 0;  // that are drawn
  for (int i = 0; i < 8; ++i) {
    const auto next = tried.neighbours.next(so_far, 2, kOfSession);
    REQUIRE(next);
    others += next->first.at("copy").back() != Configuration{{Value(4), Value(32)}} ? 1 : 0;
  }
  CHECK(others >= 4);
}

TEST_CASE("what saves most time is tried where it does, beside what saves the largest share") {
  Neighbouring tried;
  tried.measure(768, 1, 10000.0);
  Portfolio so_far;
  so_far.trees = test::copy_trees({{.of = test::CopyAhead::Of::kBlock, .by = 0.2, .n = 704, .is_above = false},
                                   {.by = 0.1, .n = 704},
                                   {.by = 0.15, .n = 64, .is_above = false}});
  const auto share = tried.neighbours.next(so_far, 2, kOfSession), time = tried.neighbours.next(so_far, 2, kOfSession);
  REQUIRE(share);
  REQUIRE(time);
  CHECK(share->first.at("copy").back() == Configuration{{Value(1), Value(64)}});
  CHECK(time->first.at("copy").back() == Configuration{{Value(4), Value(32)}});
  CHECK(time->shape.front().second == 768);
}

TEST_CASE("where nobody measured, what is expected to be ahead of all members is timed beside the best of them") {
  Neighbouring tried;
  Portfolio so_far;
  so_far.members = {{"copy", text_of(1, 32)}};
  so_far.trees = test::copy_trees({{.by = 0.1, .n = 2048}});  // nothing is measured there
  std::set<std::int64_t> at;
  for (int i = 0; i < 3; ++i) {
    const auto next = tried.neighbours.next(so_far, 2, kOfSession);
    REQUIRE(next);
    const std::int64_t n = next->shape.front().second;
    CHECK(n > 2048);
    CHECK_FALSE(tried.table.holds(next->shape));
    CHECK(next->first.at("copy") == std::vector<Configuration>{{{Value(1), Value(32)}}, {{Value(4), Value(32)}}});
    at.insert(n);
  }
  CHECK(at.size() == 3);
}

TEST_CASE("where nobody measured, the best members that trees expect are timed, and the default, but nothing that was found wrong") {
  Neighbouring tried;
  Portfolio so_far;
  so_far.members = {{"copy", text_of(1, 64)}, {"copy", text_of(2, 32)}, {"copy", text_of(2, 64)}};
  so_far.trees = test::copy_trees({{.by = 0.1, .n = 2048}, {.of = test::CopyAhead::Of::kBlock, .by = 0.05, .n = 2048}});
  const auto timed_at = [&so_far](Neighbouring& range) {
    const auto next = range.neighbours.next(so_far, 9, kOfSession);
    REQUIRE(next);
    CHECK(next->shape.front().second > 2048);
    std::set<std::string> all;
    for (const Configuration& one : next->first.at("copy")) {
      all.insert(text_of(one.values[0].integer(), one.values[1].integer()));
    }
    return all;
  };
  const std::set<std::string> all = timed_at(tried);
  for (const auto& [kernel, configuration] : so_far.members) {
    CHECK(all.contains(configuration));
  }
  CHECK(all.contains(text_of(4, 64)));  // next to them
  CHECK(all.contains(text_of(1, 32)));  // the default
  Neighbouring other;
  other.measure(768, 2, 0.0);  // wrong
  CHECK_FALSE(timed_at(other).contains(text_of(2, 32)));
}

TEST_CASE("a shape that nobody measured is left alone once what it was for does not compile") {
  Neighbouring tried;
  Portfolio so_far;
  so_far.members = {{"copy", text_of(1, 32)}};
  so_far.trees = test::copy_trees({{.by = 0.1, .n = 2048}});
  REQUIRE(tried.neighbours.next(so_far, 2, kOfSession));
  tried.neighbours.give_up({"copy", text_of(4, 32)});
  for (int i = 0; i < 8; ++i) {
    const auto next = tried.neighbours.next(so_far, 2, kOfSession);
    REQUIRE(next);
    CHECK(tried.table.holds(next->shape));
  }
}

TEST_CASE("beside one of which something is expected one is drawn, and what does not compile is not there again") {
  Neighbouring tried;
  Portfolio so_far;
  so_far.trees = test::copy_trees({{.by = 0.2}});
  const auto next = tried.neighbours.next(so_far, 9, kOfSession);
  REQUIRE(next);
  const std::vector<Configuration>& timed = next->first.at("copy");
  REQUIRE(timed.size() == 3);  // the fastest first
  CHECK(timed[1] == Configuration{{Value(4), Value(32)}});
  tried.neighbours.give_up({"copy", text_of(4, 32)});
  int plans = 0;
  for (std::optional<PlannedSurvey> other; plans < 100 && (other = tried.neighbours.next(so_far, 9, kOfSession)); ++plans) {
    CHECK(std::ranges::find(other->first.at("copy"), Configuration{{Value(4), Value(32)}}) == other->first.at("copy").end());
  }
  CHECK(plans > 4);
  CHECK(plans < 100);
}

TEST_CASE("nothing is tried before something was measured") {
  PortfolioTable empty;
  Neighbouring tried;
  CHECK_FALSE(PortfolioNeighbours(empty, tried.shapes, tried.proposals).next({}, 9, kOfSession));
}

}  // namespace hone
