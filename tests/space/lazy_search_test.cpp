// Strategies on a space that no diagram of bounded size holds.
#include <doctest/doctest.h>

#include <set>

#include "tests/search/harness.hpp"
#include "tests/space/opaque_space.hpp"

using namespace hone;
using namespace hone::test;

TEST_CASE("Every strategy searches a space that is not exact") {
  const SearchSpace& space = opaque_space();
  for (const auto& plugin : builtin_registry().strategies()) {
    CAPTURE(plugin->name());
    const Count first = space.next_valid(0);
    auto strategy = create(plugin->name(), space, 7, first);
    std::set<Count> seen{first};
    for (int turn = 0; turn < 5; ++turn) {
      std::vector<Observation> told;
      for (const Count position : strategy.ask(4)) {
        CHECK(space.next_valid(position) == position);
        CHECK(seen.insert(position).second);
        told.push_back(bowl(space, position));
      }
      strategy.tell(told);
    }
    CHECK(seen.size() >= 15);
    CHECK_MESSAGE(strategy.faults().failed == 0, strategy.faults().first);
  }
}
