#include "hone/budget.hpp"

#include <doctest/doctest.h>

namespace hone {

TEST_CASE("budgets in seconds, minutes, hours and trials") {
  CHECK(parse_budget("30s").value().seconds == 30.0);
  CHECK(parse_budget("1.5m").value().seconds == 90.0);
  CHECK(parse_budget("2h").value().seconds == 7200.0);
  CHECK(parse_budget("200trials").value().trials == 200);
  const Budget both = parse_budget("10s,5trials").value();
  CHECK(both.seconds == 10.0);
  CHECK(both.trials == 5);
}

TEST_CASE("a budget is written as it is read") { CHECK(text(parse_budget("90s,200trials").value()) == "90s,200trials"); }

TEST_CASE("what is no budget is refused by name") {
  for (const char* wrong : {"", "30", "s", "-5s", "0s", "1.5trials", "30 s", "nans"}) {
    const auto budget = parse_budget(wrong);
    REQUIRE_FALSE(budget.ok());
    CHECK(budget.error().message.find("budget: '") == 0);
  }
}

}  // namespace hone
