// What is timed beside the members of a portfolio.
#include "engine/tune/portfolio_comparisons.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "engine/kernel/configuration_text.hpp"
#include "tests/tune/copy_kernel.hpp"

namespace hone {
namespace {

constexpr double kSeconds = 5.0;  // of a session

class Compared : public test::CopyRange {
 public:
  /// The shape, and what the others took there, as a share of the time of wide=1.
  std::optional<std::int64_t> next(std::map<std::int64_t, double> share, std::size_t most = 28) {
    const auto found = comparisons.next(most);
    if (!found) {
      return std::nullopt;
    }
    const std::int64_t n = found->shape.front().second;
    for (const Configuration& configuration : found->first.at("copy")) {
      const std::int64_t wide = configuration.values.front().integer();
      timed.insert(wide);
      measure(n, wide, 10.0 * share[wide]);
    }
    return n;
  }

  /// The number of shapes until nothing is left to compare.
  int count_all(const std::map<std::int64_t, double>& share) {
    int count = 0;
    while (next(share)) {
      ++count;
    }
    return count;
  }

  PortfolioComparisons comparisons{table, shapes, proposals};
  const std::vector<PortfolioMember> members{{"copy", "wide=1,block=32"}};
  std::set<std::int64_t> timed;
};

}  // namespace

TEST_CASE("a member is timed beside what could not be tried where it won, at as many shapes as tell") {
  Compared compared;
  compared.comparisons.plan(compared.members, kSeconds);
  std::set<std::int64_t> at;
  while (const auto n = compared.next({{1, 1.0}, {2, 1.0}, {4, 1.0}})) {
    CHECK(*n % 64 == 0);
    CHECK(at.insert(*n).second);
  }
  CHECK(at.size() == 8);
  CHECK(compared.timed == std::set<std::int64_t>{1, 2, 4});
}

TEST_CASE("what is ahead of a member is timed wherever that was planned") {
  Compared compared;
  compared.comparisons.plan(compared.members, kSeconds);
  CHECK(compared.count_all({{1, 1.0}, {2, 1.0}, {4, 0.9}}) == 12);
}

TEST_CASE("what is behind at the first few shapes is compared no longer") {
  Compared compared;
  compared.comparisons.plan(compared.members, kSeconds);
  CHECK(compared.count_all({{1, 1.0}, {2, 1.1}, {4, 1.2}}) == 3);
  compared.comparisons.plan(compared.members, kSeconds);
  CHECK_FALSE(compared.next({{1, 1.0}}).has_value());
}

TEST_CASE("a comparison that a device fails to time is proposed twice, and no more") {
  Compared compared;
  compared.comparisons.plan(compared.members, kSeconds);
  std::map<std::string, int> at;
  while (const auto next = compared.comparisons.next(28)) {
    CHECK(++at[text(next->shape)] <= 2);
  }
  CHECK(at.size() == 12);
  compared.comparisons.plan(compared.members, kSeconds);
  CHECK_FALSE(compared.comparisons.next(28).has_value());
}

TEST_CASE("as many are timed at a shape as may be, the member among them") {
  Compared compared;
  compared.comparisons.plan(compared.members, kSeconds);
  const auto next = compared.comparisons.next(2);
  REQUIRE(next);
  CHECK(next->first.at("copy") == std::vector<Configuration>{{{Value(1), Value(32)}}, {{Value(2), Value(32)}}});
  CHECK_FALSE(compared.comparisons.next(1).has_value());
  std::set<std::int64_t> at;
  while (const auto n = compared.next({{1, 1.0}, {2, 0.9}, {4, 0.9}}, 2)) {
    at.insert(*n);
  }
  CHECK(compared.timed == std::set<std::int64_t>{1, 2, 4});  // what did not fit has its turn
  CHECK(at.size() >= 8);
}

TEST_CASE("what was measured at a shape is not compared there again, and counts") {
  Compared compared;
  for (std::int64_t n = 64; n <= 64 * 5; n += 64) {
    compared.measure(n, 2, 10.0);
    compared.measure(n, 4, 10.0);
  }
  compared.comparisons.plan(compared.members, kSeconds);
  std::set<std::int64_t> at;
  while (const auto n = compared.next({{1, 1.0}, {2, 1.0}, {4, 1.0}})) {
    CHECK(*n > 64 * 5);
    at.insert(*n);
  }
  CHECK(at.size() == 3);
}

TEST_CASE("where a member is far from the fastest nothing is compared with it") {
  Compared compared;
  compared.measure(64, 4, 5.0);
  compared.measure(128, 4, 5.0);
  compared.comparisons.plan(compared.members, kSeconds);
  while (const auto next = compared.comparisons.next(28)) {
    CHECK(next->shape.front().second > 128);
  }
}

/// Nothing is planned for members: what is compared is what won.
class ComparedWinners : public Compared {
 public:
  void add(std::size_t most = 1, const std::optional<PortfolioTrees>& trees = std::nullopt) {
    Portfolio about;
    about.range = request.range;
    about.rule.reach = {RuleSettings::kUsualReach};
    Portfolio so_far = table.portfolio_as_set(about, most);
    so_far.trees = trees;
    comparisons.add_winners(so_far, PortfolioRule(so_far), kSeconds);
  }
};

TEST_CASE("what won at a shape where members are behind is timed beside them around it") {
  ComparedWinners compared;
  compared.measure(320, 4, 9.0);
  compared.add();
  std::vector<std::int64_t> at;
  while (const auto n = compared.next({{1, 1.0}, {4, 0.9}})) {
    CHECK(*n % 64 == 0);
    at.push_back(*n);
    compared.add();  // once
  }
  CHECK(at.size() == 11);  // it is ahead
  CHECK(std::ranges::count(at, 320) == 0);
  CHECK(compared.timed == std::set<std::int64_t>{1, 4});
}

TEST_CASE("a winner that is as good as members elsewhere is timed at the shapes nearest to where it won") {
  ComparedWinners compared;
  compared.measure(320, 4, 9.0);
  compared.add();
  std::vector<std::int64_t> at;
  while (const auto n = compared.next({{1, 1.0}, {4, 1.0}})) {
    at.push_back(*n);
  }
  CHECK(at.size() == 8);
  CHECK(std::ranges::count(at, 256) + std::ranges::count(at, 384) == 2);  // the nearest that allow it
}

TEST_CASE("what won at a shape alone is given up after three, unless it won by much") {
  ComparedWinners little, much;
  little.measure(320, 4, 9.7);
  little.add();
  CHECK(little.count_all({{1, 1.0}, {4, 1.1}}) == 3);
  much.measure(320, 4, 9.0);
  much.add();
  CHECK(much.count_all({{1, 1.0}, {4, 1.1}}) == 8);  // as many as a member needs
}

TEST_CASE("what won by next to nothing, or is a member, is not compared as a winner") {
  ComparedWinners compared;
  compared.measure(320, 4, 9.9);
  compared.add();
  CHECK_FALSE(compared.next({}).has_value());
  compared.measure(320, 4, 9.0);
  compared.add(2);
  CHECK_FALSE(compared.next({}).has_value());
}

TEST_CASE("winners come before what is planned for members, and new plans leave them") {
  ComparedWinners compared;
  compared.measure(640, 4, 9.0);
  compared.comparisons.plan(compared.members, kSeconds);
  compared.add();
  compared.comparisons.plan(compared.members, kSeconds);
  const auto next = compared.comparisons.next(2);
  REQUIRE(next);
  CHECK(next->first.at("copy") == std::vector<Configuration>{{{Value(1), Value(32)}}, {{Value(4), Value(32)}}});
}

TEST_CASE("what won may be of another kernel than the members") {
  ComparedWinners compared;
  compared.measure_other(320, 4, 9.0);
  compared.add();
  const auto next = compared.comparisons.next(28);
  REQUIRE(next);
  CHECK(next->first == PortfolioProposals::First{{"copy", {{{Value(1), Value(32)}}}}, {"other", {{{Value(4), Value(32)}}}}});
}

TEST_CASE("a winner for which few shapes are known is compared again when more are") {
  ComparedWinners compared;
  compared.measure(320, 4, 9.0);
  Portfolio few;
  few.range = compared.request.range;
  few.rule.reach = {RuleSettings::kUsualReach};
  few = compared.table.portfolio_as_set(few, 1);
  few.points.resize(4);
  compared.comparisons.add_winners(few, PortfolioRule(few), kSeconds);
  CHECK(compared.count_all({{1, 1.0}, {4, 0.9}}) == 3);  // 64, 128 and 192
  compared.add();
  CHECK(compared.count_all({{1, 1.0}, {4, 0.9}}) == 8);  // all others: it is ahead
}

TEST_CASE("a winner is timed first where trees expect most of it, and at the nearest shapes where they expect nothing") {
  ComparedWinners compared;
  compared.measure(128, 4, 9.0);
  compared.add(1, test::copy_trees({{.by = 0.1, .n = 512}}));
  std::vector<std::int64_t> at;
  while (const auto n = compared.next({{1, 1.0}, {4, 1.0}})) {
    at.push_back(*n);
  }
  REQUIRE(at.size() == 8);
  CHECK(std::set(at.begin(), at.begin() + 4) == std::set<std::int64_t>{576, 640, 704, 768});
  CHECK(std::set(at.begin() + 4, at.begin() + 6) == std::set<std::int64_t>{64, 192});
}

TEST_CASE("one shape where a winner is far behind does not outweigh all others") {
  ComparedWinners compared;
  compared.measure(320, 4, 8.0);
  compared.measure(256, 4, 90.0);
  compared.add();
  CHECK(compared.count_all({{1, 1.0}, {4, 0.8}}) == 10);
}

TEST_CASE("what was wrong somewhere is not compared as a winner") {
  ComparedWinners compared;
  compared.measure(320, 4, 9.0);
  compared.measure(640, 4, 0.0);
  compared.add();
  CHECK_FALSE(compared.next({}).has_value());
}

TEST_CASE("what is a winner and a member's neighbour is proposed at a shape as often as others") {
  ComparedWinners compared;
  compared.measure(320, 4, 9.0);
  compared.comparisons.plan(compared.members, kSeconds);
  compared.add();
  std::map<std::string, int> at;
  while (const auto next = compared.comparisons.next(28)) {
    ++at[text(next->shape)];
  }
  CHECK(at.size() == 12);
  for (const auto& [shape, times] : at) {
    CHECK(times == 2);
  }
}

}  // namespace hone
