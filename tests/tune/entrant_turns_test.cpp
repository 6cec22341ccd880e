// Whose turn it is in an operation's session.
#include "engine/tune/entrant_turns.hpp"

#include <doctest/doctest.h>

#include "tests/tune/entered.hpp"

namespace hone {
namespace {

struct WithTurns : test::Entered {
  using test::Entered::Entered;
  EntrantProcesses processes{common(), entrants, budget};
  EntrantTurns turns{common(), entrants, budget, processes};
};

}  // namespace

TEST_CASE("the first turn is of what serves, then of others that take part") {
  WithTurns two("1000s");
  two.entrants.set_serving(1);
  CHECK(two.turns.next() == &two.entrants[1]);
  two.entrants[1].done = true;
  CHECK(two.turns.next() == &two.entrants[0]);
  two.entrants[0].out = true;
  CHECK(two.turns.next() == nullptr);
}

TEST_CASE("a spent budget leaves turns to what serves alone, and none where that has had its last") {
  WithTurns two("1000s");
  two.entrants.set_serving(1);
  CHECK_FALSE(two.turns.are_over());
  two.budget.go_on_after(2000.0);
  CHECK_FALSE(two.turns.are_over());
  two.entrants[1].done = true;  // without the budget's end it would be another's turn
  CHECK(two.turns.next() == &two.entrants[1]);
  CHECK(two.turns.are_over());
}

}  // namespace hone
