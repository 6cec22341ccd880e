// What is left of the budget of an operation's session.
#include "engine/tune/operation_budget.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "tests/tune/entered.hpp"

namespace hone {
namespace {

using test::Entered;

doctest::Approx about(double seconds) { return doctest::Approx(seconds).epsilon(0.01); }  // a test takes some, too

}  // namespace

TEST_CASE("final rounds keep a part of an operation's seconds: more of them for several kernels, and none where there is no final round") {
  Entered two("1000s");
  CHECK(two.budget.remaining().seconds == about(850.0));
  CHECK(two.budget.remaining().trials > 1e300);
  two.entrants[1].out = true;
  CHECK(two.budget.remaining().seconds == about(900.0));
  two.common().finish = false;
  CHECK(two.budget.remaining().seconds == about(1000.0));
  CHECK(two.budget.comparison_seconds() == doctest::Approx(50.0));
}

TEST_CASE("the longest of the kernels' earlier runs counts for an operation's session") {
  Entered two("1000s");
  two.budget.go_on_after(300.0);
  two.budget.go_on_after(200.0);
  CHECK(two.budget.elapsed() == about(300.0));
  two.budget.begin();
  CHECK(two.budget.remaining().seconds == about(550.0));
  CHECK_FALSE(two.budget.is_spent());
  two.budget.go_on_after(850.0);
  CHECK(two.budget.is_spent());
}

TEST_CASE("an operation's trials are spent on the search alone, and what is compared takes a part of the time that it took") {
  Entered two("40trials");
  two.budget.go_on_after(100.0);
  CHECK(two.budget.remaining().trials == 40.0);
  CHECK(two.budget.remaining().seconds > 1e300);
  CHECK(two.budget.comparison_seconds() == about(5.0));
  CHECK_FALSE(two.budget.is_spent());
  two.common().budget.trials = 0;
  CHECK(two.budget.is_spent());
}

TEST_CASE("each kernel has two trials before any has its share, but where changing kernels costs more than it brings") {
  Entered two("1000s");
  CHECK(two.budget.first_share() > 2);
  CHECK(two.budget.initial_trials() == 2);
  CHECK(two.budget.is_initial(two.entrants.front()));
  const Entered by_trials("40trials");
  CHECK(by_trials.budget.initial_trials() == 0);
  CHECK_FALSE(by_trials.budget.is_initial(by_trials.entrants.front()));
  const Entered little("1000s", std::int64_t{256} << 20);
  CHECK(little.entrants.one_at_a_time());
  CHECK(little.budget.initial_trials() == 0);
}

}  // namespace hone
