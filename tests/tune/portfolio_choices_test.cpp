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

  [[nodiscard]] Portfolio so_far(std::size_t members = 2) const {
    Portfolio about;
    about.range = request.range;
    about.rule.reach = {RuleSettings::kUsualReach};
    return table.portfolio_as_set(about, members);
  }
  std::optional<PlannedSurvey> next(std::size_t most = 28) {
    const Portfolio known = so_far();
    return choices.next(known, PortfolioRule(known), most, kSessionSeconds);
  }

  /// What is planned takes so long: by the width. By shape, which were timed, until nothing is left.
  std::map<std::int64_t, std::set<std::int64_t>> time_all(std::map<std::int64_t, double> us) {
    std::map<std::int64_t, std::set<std::int64_t>> timed;
    for (int steps = 0; const auto plan = next(); ++steps) {
      REQUIRE(steps < 100);
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
  for (int steps = 0; const auto plan = chosen.next(); ++steps) {
    REQUIRE(steps < 100);
    ++times[plan->shape.front().second];
  }
  CHECK_FALSE(times.empty());
  for (const auto& [n, count] : times) {
    CHECK(count == 2);
  }
}

TEST_CASE("a shape waits for a rule that knows it") {
  Chosen chosen;
  chosen.measure(900, 1, 10.0);
  chosen.measure(960, 4, 8.0);
  const Portfolio before = chosen.so_far();
  chosen.measure(1024, 1, 10.0);
  std::set<std::int64_t> at;
  for (int steps = 0; const auto plan = chosen.choices.next(before, PortfolioRule(before), 28, kSessionSeconds); ++steps) {
    REQUIRE(steps < 100);
    at.insert(plan->shape.front().second);
  }
  CHECK(chosen.choices.is_done());
  CHECK(at.contains(900));
  CHECK_FALSE(at.contains(1024));
  const auto next = chosen.next();
  REQUIRE(next);
  CHECK(next->shape.front().second == 1024);
}

TEST_CASE("a choice is timed beside the fastest that is known, be it no member") {
  Chosen chosen;
  chosen.measure(192, 2, 9.0);
  const auto timed = chosen.time_all({{1, 10.0}, {2, 9.0}, {4, 8.0}});
  REQUIRE(timed.contains(192));
  CHECK(timed.at(192) == std::set<std::int64_t>{2, 4});
}

TEST_CASE("a choice is timed beside the default, where that was not and there is room") {
  for (const auto& [most, expected] : std::map<std::size_t, std::set<std::int64_t>>{{2, {2, 4}}, {28, {1, 2, 4}}}) {
    INFO(most);
    Chosen chosen;
    for (std::int64_t n = 64; n <= 768; n += 64) {
      chosen.measure(n, 4, 5.0);
    }
    chosen.measure(832, 2, 9.0);
    const Portfolio known = chosen.so_far(1);
    REQUIRE(known.members.front().configuration == "wide=4,block=32");
    const auto plan = chosen.choices.next(known, PortfolioRule(known), most, kSessionSeconds);
    REQUIRE(plan);
    CHECK(plan->shape.front().second == 832);
    std::set<std::int64_t> widths;
    for (const Configuration& configuration : plan->first.at("copy")) {
      widths.insert(configuration.values.front().integer());
    }
    CHECK(widths == expected);
  }
}

TEST_CASE("a choice needs room for what it is timed beside") {
  Chosen chosen;
  CHECK_FALSE(chosen.next(1).has_value());
  const auto plan = chosen.next(2);
  REQUIRE(plan);
  CHECK(plan->first.at("copy").size() == 2);
}

}  // namespace hone
