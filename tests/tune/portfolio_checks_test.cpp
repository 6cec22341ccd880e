// Which members have still to pass the full gate.
#include "engine/tune/portfolio_checks.hpp"

#include <doctest/doctest.h>

#include "engine/kernel/configuration_text.hpp"
#include "tests/tune/copy_kernel.hpp"

namespace hone {
namespace {

const std::vector<PortfolioMember> kMembers{{"copy", "wide=1,block=32"}, {"copy", "wide=4,block=32"}};
constexpr std::size_t kMost = 16;

std::vector<Configuration> planned(const std::optional<PlannedCheck>& plan) {
  REQUIRE(plan);
  return plan->survey.first.at("copy");
}

}  // namespace

TEST_CASE("members are checked where many of them were right, and where calls are short") {
  test::CopyRange range;  // wide=1 at 63, 64, 128, ..., 10 us
  range.measure(256, 4, 9.0);
  range.measure(512, 4, 9.0);
  range.measure(512, 1, 9e4);
  PortfolioChecks checks(range.table, range.shapes, range.proposals);
  const auto first = checks.next(kMembers, kMost);
  CHECK(planned(first).size() == 2);
  CHECK(first->survey.shape == Shape{{"n", 256}});
}

TEST_CASE("who has passed, or was found wrong, is not checked, and nobody is proposed for ever") {
  test::CopyRange range;
  range.measure(256, 4, 9.0);
  PortfolioChecks checks(range.table, range.shapes, range.proposals);
  SUBCASE("passed") {
    range.measure_final(256, 4, 9.0);
    CHECK(planned(checks.next(kMembers, kMost)) == std::vector<Configuration>{{{Value(1), Value(32)}}});
    range.measure_final(64, 1, 10.0);
    CHECK_FALSE(checks.next(kMembers, kMost));
  }
  SUBCASE("wrong") {
    range.measure(256, 4, -1.0);
    CHECK(planned(checks.next(kMembers, kMost)) == std::vector<Configuration>{{{Value(1), Value(32)}}});
  }
  SUBCASE("not reached") {
    const auto one = [&] {
      const auto plan = checks.next(kMembers, 1);
      if (plan) {
        checks.end(*plan);
      }
      return plan ? plan->members.size() : 0;
    };
    for (int i = 0; i < 4; ++i) {
      CHECK(one() == 1);
    }
    CHECK(one() == 0);
  }
  SUBCASE("being checked") {
    const auto both = checks.next(kMembers, kMost);
    CHECK(planned(both).size() == 2);
    CHECK_FALSE(checks.next(kMembers, kMost));
    checks.end(*both);
    CHECK(planned(checks.next(kMembers, kMost)).size() == 2);
  }
}

}  // namespace hone
