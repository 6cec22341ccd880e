// What a survey times at a shape.
#include "engine/tune/portfolio_proposals.hpp"

#include <doctest/doctest.h>

#include "tests/tune/copy_kernel.hpp"

namespace hone {
namespace {

Configuration wide(std::int64_t elements) { return {{Value(elements), Value(32)}}; }

/// With a portfolio of what was measured.
PortfolioProposals::First proposed(test::CopyRange& range, std::int64_t n, std::size_t most) {
  Portfolio about;
  about.range = range.request.range;
  about.rule.reach = {RuleSettings::kUsualReach};
  range.request.common.transfer = false;
  const Portfolio portfolio = range.table.portfolio_as_set(about, 48);
  const PortfolioRule rule(portfolio);
  const Shape shape{{"n", n}};
  return range.proposals.at(shape, range.shapes.problem_at(shape).value(), portfolio, &rule, most, most / 2);
}

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
  CHECK(found.front() == wide(4));
}

}  // namespace hone
