// Choices of a rule at measured shapes, where they were not timed.
#include "engine/tune/portfolio_choices.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/kernel/configuration_text.hpp"
#include "tests/tune/copy_kernel.hpp"

namespace hone {
namespace {

constexpr double kSessionSeconds = 5.0;  // of a session

/// wide=1 was measured everywhere, wide=4 at two shapes, where it was faster.
class Chosen : public test::CopyRange {
 public:
  Chosen() {
    measure(256, 4, 8.0);
    measure(320, 4, 8.0);
  }

  std::optional<PlannedSurvey> next(std::size_t most = 28) {
    Portfolio about;
    about.range = request.range;
    about.rule.reach = {RuleSettings::kUsualReach};
    const Portfolio so_far = table.portfolio_as_set(about, 2);
    return choices.next(so_far, PortfolioRule(so_far), most, kSessionSeconds);
  }

  /// What is planned takes so long: by the width. By shape, which were timed, until nothing is left.
  std::map<std::int64_t, std::set<std::int64_t>> time_all(std::map<std::int64_t, double> us) {
    std::map<std::int64_t, std::set<std::int64_t>> timed;
    while (const auto plan = next()) {
      const std::int64_t n = plan->shape.front().second;
      for (const Configuration& configuration : plan->first.at("copy")) {
        const std::int64_t wide = configuration.values.front().integer();
        timed[n].insert(wide);
        measure(n, wide, us[wide]);
      }
    }
    return timed;
  }

  PortfolioChoices choices{table, shapes, proposals};
};

}  // namespace

TEST_CASE("a choice that was not timed at a shape is timed there, beside the fastest that is known") {
  Chosen chosen;
  const auto timed = chosen.time_all({{1, 10.0}, {4, 8.0}});
  CHECK(timed.contains(192));
  CHECK(timed.contains(384));
  for (const auto& [n, widths] : timed) {
    INFO(n);
    CHECK(widths == std::set<std::int64_t>{1, 4});
  }
}

TEST_CASE("what was timed as a choice is a choice there no longer, right or wrong") {
  Chosen chosen;
  const auto timed = chosen.time_all({{1, 10.0}, {4, 12.0}});
  CHECK_FALSE(timed.empty());
  CHECK_FALSE(timed.contains(256));  // was timed
  CHECK_FALSE(timed.contains(63));   // is illegal
  CHECK_FALSE(chosen.next().has_value());
}

TEST_CASE("choices that are wrong near a shape are not made there") {
  Chosen right, wrong;
  CHECK(wrong.time_all({{1, 10.0}, {4, 15.0}}).size() < right.time_all({{1, 10.0}, {4, 8.0}}).size());
}

TEST_CASE("a choice that a device fails to time is planned twice at a shape, and no more") {
  Chosen chosen;
  std::map<std::int64_t, int> times;
  while (const auto plan = chosen.next()) {
    CHECK(++times[plan->shape.front().second] <= 2);
  }
  CHECK_FALSE(times.empty());
}

TEST_CASE("a choice needs room for what it is timed beside") {
  Chosen chosen;
  CHECK_FALSE(chosen.next(1).has_value());
  const auto plan = chosen.next(2);
  REQUIRE(plan);
  CHECK(plan->first.at("copy").size() == 2);
}

}  // namespace hone
