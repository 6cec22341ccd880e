#include "engine/space/space_explanation.hpp"

#include <doctest/doctest.h>

#include "tests/space/described.hpp"
#include "tests/space/random_space.hpp"

namespace {

using namespace hone;
using namespace hone::test;

std::vector<Parameter> four() {
  return {described("a", counting(1, 4)), described("b", counting(1, 4)), described("c", counting(1, 4)), described("d", counting(1, 4))};
}

SpaceExplanation explained(const std::vector<std::string>& constraints) {
  const auto parameters = four();
  const auto explanation = explain(parameters, conditions(parameters, constraints), {});
  REQUIRE(explanation.ok());
  return *explanation;
}

std::string counted(const std::optional<Count>& count) { return count ? text(*count) : "?"; }

}  // namespace

TEST_CASE("Each constraint is explained by what it removes and what it ties together") {
  const SpaceExplanation made = explained({"a < b", "a + b <= 4", "d > 4 - d"});
  CHECK(text(made.cartesian) == "256");
  CHECK(counted(made.valid) == "16");  // (1, 2), (1, 3); any c; d of 3, 4
  CHECK(counted(made.effects[0].removes_alone) == "160");
  CHECK(counted(made.effects[0].removes_last) == "32");
  CHECK(counted(made.effects[1].removes_alone) == "160");
  CHECK(counted(made.effects[1].removes_last) == "32");
  CHECK(counted(made.effects[2].removes_alone) == "128");
  CHECK(made.effects[0].parameters == std::vector<std::string>{"a", "b"});
  CHECK(made.effects[2].parameters == std::vector<std::string>{"d"});
  CHECK(made.effects[2].line == 3);
  CHECK(made.conflict.empty());
}

TEST_CASE("Effects agree with trying every combination, over random constraints") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const RandomSpace made = random_space(seed);
    const auto explanation = explain(made.parameters, made.constraints, {});
    REQUIRE(explanation.ok());
    const std::size_t all = enumerate({made.parameters, {}}).size(), valid = enumerate(made).size();
    CHECK(counted(explanation->valid) == std::to_string(valid));
    for (std::size_t i = 0; i < made.constraints.size(); ++i) {
      RandomSpace others = made;
      others.constraints.erase(others.constraints.begin() + static_cast<std::ptrdiff_t>(i));
      CHECK(counted(explanation->effects[i].removes_alone) ==
            std::to_string(all - enumerate({made.parameters, {made.constraints[i]}}).size()));
      CHECK(counted(explanation->effects[i].removes_last) == std::to_string(enumerate(others).size() - valid));
    }
  }
}

TEST_CASE("An empty space is explained by a smallest contradiction, not by the first that is minimal") {
  // a < b < c < d < a contradicts itself and none of the four can be left out; a > 3 and a + b < 4 are only two.
  const SpaceExplanation made = explained({"a > 3", "a + b < 4", "a < b", "b < c", "c < d", "d < a"});
  CHECK(counted(made.valid) == "0");
  CHECK(made.conflict == std::vector<std::size_t>{0, 1});
  CHECK(made.conflict_is_smallest);
  const SpaceExplanation cycle = explained({"d != 2", "a < b", "b < c", "c < a"});
  CHECK(cycle.conflict == std::vector<std::size_t>{1, 2, 3});
  CHECK(cycle.conflict_is_smallest);
}

TEST_CASE("One constraint that nothing meets is the whole contradiction") {
  const SpaceExplanation made = explained({"a < b", "a > 4", "c < d"});
  CHECK(made.conflict == std::vector<std::size_t>{1});
  CHECK(made.conflict_is_smallest);
}

TEST_CASE("Each expectation is explained by what it takes from the valid configurations") {
  const auto parameters = four();
  const auto made =
      explain(parameters, conditions(parameters, {"a < b"}), {}, conditions(parameters, {"b < 4", "c + d > 4", "b != 3"})).value();
  CHECK(counted(made.valid) == "96");
  CHECK(counted(made.likely) == "10");  // (1, 2); 10 of 16
  REQUIRE(made.expectations.size() == 3);
  CHECK(counted(made.expectations[0].removes_alone) == "48");
  CHECK(counted(made.expectations[0].removes_last) == "30");
  CHECK(made.expectations[1].parameters == std::vector<std::string>{"c", "d"});
  CHECK(counted(made.expectations[1].removes_last) == "6");
  CHECK(counted(made.effects[0].removes_alone) == "160");
  CHECK(made.disagreement.empty());
}

TEST_CASE("Of expectations that no valid configuration meets it is told which disagree") {
  const auto parameters = four();
  const auto made = explain(parameters, conditions(parameters, {"a < b"}), {}, conditions(parameters, {"c > 1", "b == 1"})).value();
  CHECK(counted(made.likely) == "0");
  CHECK(made.disagreement == std::vector<std::size_t>{1});
  CHECK(made.conflict.empty());
}
