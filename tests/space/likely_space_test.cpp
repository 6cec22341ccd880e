#include "engine/space/likely_space.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/space/described.hpp"
#include "tests/space/opaque_space.hpp"
#include "tests/space/random_space.hpp"

namespace {

using namespace hone;
using namespace hone::test;

std::vector<Parameter> three() { return {described("a", counting(1, 4)), described("b", counting(1, 4)), described("c", counting(1, 4))}; }

LikelySpace built(const std::vector<std::string>& constraints, const std::vector<std::string>& expectations) {
  const auto parameters = three();
  auto space = LikelySpace::build(parameters, conditions(parameters, constraints), conditions(parameters, expectations), {});
  INFO((space ? std::string() : space.error().message));
  REQUIRE(space.ok());
  return std::move(space).value();
}

/// Positions go both ways, and only what breaks no expectation has one in the likely space.
void check_positions(const LikelySpace& space) {
  Count likely = 0;
  for (Count i = 0; i < space.legal()->size(); ++i) {
    const Configuration configuration = space.legal()->at(i);
    const auto narrow = space.to_likely(i);
    CHECK(narrow.has_value() == (!space.narrows() || space.broken(configuration).empty()));
    if (narrow) {
      ++likely;
      CHECK((space.to_legal(*narrow) == i));
      CHECK(space.likely()->at(*narrow) == configuration);
    }
  }
  CHECK((likely == space.likely()->size()));
}

}  // namespace

TEST_CASE("the likely space is the legal one narrowed, with positions in both") {
  const LikelySpace space = built({"a < b"}, {"c > 2", "a + c != 4"});
  CHECK(text(space.legal()->size()) == "24");
  CHECK(text(space.likely()->size()) == "9");
  CHECK(space.narrows());
  CHECK(space.contradiction().empty());
  CHECK(space.broken({{1, 2, 3}}) == std::vector<std::size_t>{1});
  CHECK(space.broken({{2, 3, 2}}) == std::vector<std::size_t>{0, 1});
  CHECK(space.broken({{1, 2, 4}}).empty());
  check_positions(space);
}

TEST_CASE("without expectations, or where they take nothing away, the likely space is the legal one itself") {
  for (const auto& expectations : std::vector<std::vector<std::string>>{{}, {"a < 9"}}) {
    const LikelySpace space = built({"a < b"}, expectations);
    CHECK_FALSE(space.narrows());
    CHECK(space.likely() == space.legal());
    check_positions(space);
  }
}

TEST_CASE("expectations that no configuration meets together leave the legal space, and it is said which they are") {
  const LikelySpace space = built({"a < b"}, {"c > 2", "b < a + 1"});
  CHECK_FALSE(space.narrows());
  CHECK(text(space.likely()->size()) == "24");
  CHECK(space.contradiction() == "'a < b' (line 1) and 'b < a + 1' (line 2) cannot be met together");
  CHECK(space.broken({{1, 2, 1}}) == std::vector<std::size_t>{0, 1});
}

TEST_CASE("a legal space without a configuration, and an expectation with an unknown name, are errors") {
  const auto parameters = three();
  const auto constraints = conditions(parameters, {"a > 4"}), fine = conditions(parameters, {"a > 1"});
  CHECK(LikelySpace::build(parameters, constraints, fine, {}).error().code == ErrorCode::kEmptySpace);
  std::vector<Constraint> unknown = fine;
  unknown[0].condition = Expression::make(Operator::kLess, {Expression::variable("d.nothing"), Expression::constant(1)});
  CHECK(LikelySpace::build(parameters, {}, unknown, {}).error().code == ErrorCode::kBadKernel);
}

TEST_CASE("both spaces agree with trying every combination, over random constraints and expectations") {
  int narrowed = 0, contradicted = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    const RandomSpace made = random_space(seed);
    std::mt19937_64 random(seed);
    RandomSpace both = made;
    std::vector<Constraint> expectations;
    for (std::size_t i = 0; i < 1 + seed % 3; ++i) {
      expectations.push_back(random_constraint(random, made.parameters.size(), false));
      both.constraints.push_back(expectations.back());
    }
    const auto space = LikelySpace::build(made.parameters, made.constraints, expectations, {});
    const std::size_t legal = enumerate(made).size(), likely = enumerate(both).size();
    REQUIRE(space.ok() == (legal > 0));
    if (legal == 0) {
      continue;
    }
    CHECK((space->likely()->size() == (likely == 0 ? legal : likely)));
    CHECK(space->contradiction().empty() == (likely > 0));
    check_positions(*space);
    narrowed += space->narrows() ? 1 : 0;
    contradicted += likely == 0 ? 1 : 0;
  }
  CHECK(narrowed > 20);
  CHECK(contradicted > 5);
}

TEST_CASE("of a recorded space the likely part is that of its rows") {
  const auto parameters = three();
  const auto legal =
      std::make_shared<const SearchSpace>(SearchSpace::from_rows(parameters, {{0, 0, 0}, {1, 2, 3}, {3, 3, 3}, {3, 0, 1}}).value());
  const LikelySpace space = LikelySpace::of_recorded(legal, conditions(parameters, {"a > 1", "b < 4"}), {}).value();
  CHECK((space.likely()->size() == 2));
  check_positions(space);
  const LikelySpace none = LikelySpace::of_recorded(legal, conditions(parameters, {"a > 9"}), {}).value();
  CHECK_FALSE(none.narrows());
  CHECK_FALSE(none.contradiction().empty());
}

TEST_CASE("positions go both ways where constraints defeat sharing") {
  const auto parameters = eight();
  const LikelySpace space =
      LikelySpace::build(parameters, conditions(parameters, {"a * b <= 64", kOpaque}), conditions(parameters, {"c > 8", "d != e"}), {})
          .value();
  CHECK_FALSE(space.likely()->exact());
  CHECK((space.likely()->size() < space.legal()->size()));
  std::mt19937_64 random(1);
  for (const Count likely : space.likely()->sample(random, 50)) {
    const Count legal = space.to_legal(likely);
    const Configuration configuration = space.likely()->at(likely);
    CHECK(space.legal()->at(legal) == configuration);
    CHECK((space.to_likely(legal) == space.likely()->index(configuration)));
    CHECK(space.broken(configuration).empty());
  }
  int unlikely = 0;
  for (const Count legal : space.legal()->sample(random, 50)) {
    const bool likely = space.broken(space.legal()->at(legal)).empty();
    CHECK(space.to_likely(legal).has_value() == likely);
    unlikely += likely ? 0 : 1;
  }
  CHECK(unlikely > 5);
}
