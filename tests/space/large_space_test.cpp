// Many parameters, many conditions, many values.
#include <fmt/format.h>

#include "tests/space/described.hpp"

using namespace hone;
using namespace hone::test;

TEST_CASE("More conditions than a machine word has bits are counted exactly where few of them are open at a time") {
  // Neighbours of forty parameters: 1 or 2 in any order but 2 after 2, so that configurations grow as Fibonacci's numbers do.
  std::vector<Parameter> parameters;
  std::vector<std::string> constraints;
  for (int i = 0; i < 40; ++i) {
    parameters.push_back(described(fmt::format("x{}", i), counting(1, 3)));
  }
  for (int i = 0; i + 1 < 40; ++i) {
    constraints.push_back(fmt::format("x{} * x{} != 4", i, i + 1));
    constraints.push_back(fmt::format("x{} < 3 and x{} < 3", i, i + 1));
  }
  for (int i = 0; i + 4 < 40; ++i) {  // over 81 combinations each: not tables at once
    constraints.push_back(fmt::format("x{} + x{} + x{} + x{} < 9", i, i + 1, i + 2, i + 3));
  }
  const SearchSpace space = build(parameters, constraints);
  CHECK(space.exact());
  std::uint64_t ending_in_1 = 1, ending_in_2 = 1;
  for (int i = 1; i < 40; ++i) {
    ending_in_2 = std::exchange(ending_in_1, ending_in_1 + ending_in_2);
  }
  CHECK(text(space.size()) == std::to_string(ending_in_1 + ending_in_2));
}

TEST_CASE("Permutations are counted exactly, though each pair of parameters is tied") {
  std::vector<Parameter> parameters;
  std::vector<std::string> constraints;
  for (int i = 0; i < 12; ++i) {
    parameters.push_back(described(fmt::format("x{}", i), counting(1, 12)));
    for (int j = 0; j < i; ++j) {
      constraints.push_back(fmt::format("x{} != x{}", i, j));
    }
  }
  const SearchSpace space = build(parameters, constraints);
  CHECK(space.exact());
  CHECK(text(space.size()) == "479001600");
  CHECK(space.figures().nodes <= 4096);  // what is left is what decides
}

TEST_CASE("A parameter may list as many values as a digit can name") {
  const SearchSpace space = build({described("a", counting(0, 65535)), described("b", {1, 2})}, {"a % b == 0"});
  CHECK(text(space.size()) == "98304");
  const Digits last{65535, 1};
  CHECK(space.index(last) == std::nullopt);
  CHECK(space.digits(space.nearest(last)) == Digits{65534, 1});
  CHECK(space.digits(space.size() - 1) == Digits{65535, 0});
}

TEST_CASE("Tables of a condition with very many values do not take for ever") {
  const SearchSpace space =
      build({described("a", counting(1, 2000)), described("b", counting(1, 2000)), described("c", counting(1, 65000))},
            {"(a * 7919 ^ b * 104729) * c % 1000003 < 1000", "a + b < 100"});
  CHECK_FALSE(space.exact());  // four million states of 65000 values each would be looked at
  CHECK(space.figures().bytes < 10'000'000);
  CHECK(space.contains(space.at(space.next_valid(space.size() / 2))));
}
