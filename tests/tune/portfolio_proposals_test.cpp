// What a survey times at a shape.
#include "engine/tune/portfolio_proposals.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/tune/copy_kernel.hpp"

namespace hone {
namespace {

Configuration wide(std::int64_t elements) { return {{Value(elements), Value(32)}}; }

/// With a portfolio of what was measured.
PortfolioProposals::First proposed(test::CopyRange& range, std::int64_t n, std::size_t most, std::size_t most_members) {
  Portfolio about;
  about.range = range.request.range;
  about.rule.reach = {RuleSettings::kUsualReach};
  range.request.common.transfer = false;
  const Portfolio portfolio = range.table.portfolio_as_set(about, 48);
  const PortfolioRule rule(portfolio);
  const Shape shape{{"n", n}};
  return range.proposals.at(shape, range.shapes.problem_at(shape).value(), portfolio, &rule, most, most_members);
}
PortfolioProposals::First proposed(test::CopyRange& range, std::int64_t n, std::size_t most) { return proposed(range, n, most, most / 2); }

}  // namespace

TEST_CASE("what could not be tried where a configuration won is proposed where it can be") {
  test::CopyRange range;
  CHECK(proposed(range, 100, 28).at("copy") == std::vector<Configuration>{wide(1), wide(2), wide(4)});
  CHECK(proposed(range, 102, 28).at("copy") == std::vector<Configuration>{wide(1), wide(2)});
  CHECK(proposed(range, 101, 28).at("copy") == std::vector<Configuration>{wide(1)});
}

TEST_CASE("at most a quarter of what is proposed could not be tried before") {
  test::CopyRange range;
  CHECK(proposed(range, 100, 4).at("copy") == std::vector<Configuration>{wide(1), wide(2)});
}

TEST_CASE("what was tried somewhere is proposed for what it took, and no more for what it is") {
  test::CopyRange range;
  range.measure(128, 2, 30.0);
  range.measure(128, 4, 9.0);
  const auto found = proposed(range, 132, 28).at("copy");
  REQUIRE(found.size() >= 2);
  CHECK(found[1] == wide(4));  // after the default
}

TEST_CASE("a survey times the default before all others, however slow it was") {
  test::CopyRange range;
  range.measure(128, 2, 1.0);
  range.measure(128, 4, 1.0);
  CHECK(proposed(range, 132, 2, 2).at("copy").front() == wide(1));
  CHECK(proposed(range, 132, 1, 0).at("copy").front() != wide(1));  // a session begins with it
}

TEST_CASE("a survey times the default of a kernel that was measured at few shapes, beside the others") {
  test::CopyRange range;
  CHECK(proposed(range, 132, 12, 6).at("other").front() == wide(1));
  CHECK_FALSE(proposed(range, 132, 12, 0).contains("other"));  // a session begins with it
  for (std::int64_t n = 64; n <= 64 * 7; n += 64) {
    range.measure_other(n, 1, 30.0);
  }
  CHECK(proposed(range, 132, 12, 6).contains("other"));
  range.measure_other(64 * 8, 1, 30.0);
  CHECK_FALSE(proposed(range, 132, 12, 6).contains("other"));
}

TEST_CASE("a default that was measured at many shapes and is nowhere near the best is timed no more") {
  test::CopyRange range;
  for (std::int64_t n = 64; n <= 768; n += 64) {
    range.measure(n, 4, 5.0);
    range.measure_other(n, 1, 5.0);
  }
  CHECK(proposed(range, 132, 1, 1).at("copy").front() == wide(1));  // at 63 it was the best
  range.measure(63, 2, 5.0);
  CHECK(proposed(range, 132, 1, 1).at("copy").front() == wide(4));
}

TEST_CASE("a session begins with a few that nobody has tried near it, unlike each other, and a survey does not") {
  test::CopyRange range;
  const auto is_new = [](const Configuration& one) { return one.values.back() == Value(64); };
  const auto session = proposed(range, 102, 12, 0).at("copy");
  CHECK(std::ranges::count_if(session, is_new) == 1);
  CHECK(std::ranges::find(session, wide(2)) != session.end());
  CHECK(std::ranges::find(session, wide(1)) != session.end());
  CHECK(std::ranges::count_if(proposed(range, 102, 12, 6).at("copy"), is_new) == 0);
}

TEST_CASE("what did something wrong is no neighbour that is tried") {
  test::CopyRange range;
  range.measure(700, 1, 10.0);
  range.measure(700, 2, 0.0);
  const auto session = proposed(range, 102, 3, 0).at("copy");
  CHECK(std::ranges::find(session, wide(2)) == session.end());
}

}  // namespace hone
