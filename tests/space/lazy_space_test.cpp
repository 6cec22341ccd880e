// Constraints that no diagram of bounded size can hold.
#include <doctest/doctest.h>

#include <set>

#include "tests/space/opaque_space.hpp"

namespace {

using namespace hone;
using namespace hone::test;

bool meets(const SearchSpace& space, const Configuration& configuration) {
  for (const Constraint& constraint : conditions(eight(), {"a * b <= 64", kOpaque})) {
    if (!constraint.condition.evaluate(bindings(space.parameters(), configuration))->boolean()) {
      return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("A constraint that defeats sharing is named, the others are counted, and memory is bounded") {
  const SearchSpace& space = opaque_space();
  CHECK_FALSE(space.exact());
  const SpaceFigures figures = space.figures();
  REQUIRE(figures.deferred.size() == 1);
  CHECK(figures.deferred[0] == kOpaque);
  CHECK(figures.bytes < 100'000);
  CHECK(text(space.cartesian()) == "4294967296");
  CHECK(text(space.size()) == "2382364672");  // 142 of 256 pairs (a, b)
}

TEST_CASE("Where sharing is defeated, every answer is a valid configuration still") {
  const SearchSpace& space = opaque_space();
  std::mt19937_64 random(1);
  const std::vector<Count> sample = space.sample(random, 50);
  CHECK(std::set<Count>(sample.begin(), sample.end()).size() == 50);
  for (const Count position : sample) {
    CHECK(meets(space, space.at(position)));
    CHECK(space.index(space.at(position)) == position);
    CHECK(space.next_valid(position) == position);
    for (const Count neighbour : space.neighbours(position, Neighbourhood::kAdjacent)) {
      CHECK(meets(space, space.at(neighbour)));
    }
    Digits near = space.digits(position);
    near[3] = static_cast<std::uint16_t>((near[3] + 5) % 16);
    CHECK(meets(space, space.at(space.nearest(near))));
  }
}

TEST_CASE("Any position of a space that is not exact leads to a valid one, the next") {
  const SearchSpace& space = opaque_space();
  for (const Count position : {Count{0}, space.size() / 3, space.size() - 1}) {
    CHECK(meets(space, space.at(position)));
    const Count valid = space.next_valid(position);
    CHECK(space.index(space.at(position)) == valid);
    CHECK((valid >= position || position == space.size() - 1));
  }
}

TEST_CASE("Samples of a space that is not exact are uniform over what is valid") {
  const SearchSpace& space = opaque_space();
  std::mt19937_64 random(2);
  std::size_t low = 0;
  constexpr std::size_t kSamples = 2000;
  for (std::size_t i = 0; i < kSamples; ++i) {
    low += space.at(space.sample(random)).values[7].integer() <= 8 ? 1 : 0;
  }
  CHECK(static_cast<double>(low) / kSamples == doctest::Approx(0.5).epsilon(0.1));
}

TEST_CASE("Where hardly anything is valid, a sample is what some hundred thousand looks find") {
  const std::string rare = kOpaque.substr(0, kOpaque.find(" % ")) + " % 1009 == 150";
  const SearchSpace space = SearchSpace::build(eight(), conditions(eight(), {rare}), {}).value();
  REQUIRE_FALSE(space.exact());
  std::mt19937_64 random(3);
  const std::vector<Count> sample = space.sample(random, 4096);
  CHECK(sample.size() > 50);
  CHECK(sample.size() < 1000);
  for (const Count position : sample) {
    CHECK(space.index(space.at(position)) == position);
  }
}

TEST_CASE("A contradiction beside what defeats sharing is found") {
  const auto space = SearchSpace::build(eight(), conditions(eight(), {kOpaque, "a + b > 40"}), {});
  REQUIRE_FALSE(space.ok());
  CHECK(space.error().code == ErrorCode::kEmptySpace);
}

TEST_CASE("Where nothing valid is found in bounded time, the error says so and names the constraint") {
  const std::string never = kOpaque.substr(0, kOpaque.find(" % ")) + " % 1000003 == 1000003 * h";
  const auto space = SearchSpace::build(eight(), conditions(eight(), {never}), {});
  if (!space.ok()) {
    CHECK(space.error().message.find(never) != std::string::npos);
  }
}

TEST_CASE("A remainder needs no more of a sum than its own remainder") {
  std::vector<Parameter> parameters;
  std::string sum;
  for (int i = 0; i < 12; ++i) {
    parameters.push_back(described("x" + std::to_string(i), counting(0, 9)));
    sum += (i == 0 ? "" : " + ") + std::to_string(1 + 37 * i * i * i) + " * x" + std::to_string(i);
  }
  const SearchSpace space = build(parameters, {"(" + sum + ") % 7 == 0"});
  CHECK(space.exact());
  CHECK(space.figures().nodes < 12 * 7);
}

TEST_CASE("Another shape rebuilds only the groups that it touches") {
  const std::vector<Parameter> parameters{described("block", powers_of_two(1024)), described("tile", counting(1, 8)),
                                          described("unroll", counting(1, 8)), described("stages", counting(1, 4))};
  const auto v = [](const char* name) { return Expression::variable(name); };
  const auto fits =
      Expression::make(Operator::kLessEqual, {Expression::make(Operator::kMultiply, {v("c.block"), v("c.tile")}), v("p.cols")});
  const auto divides = Expression::make(
      Operator::kEqual, {Expression::make(Operator::kRemainder, {v("c.stages"), v("c.unroll")}), Expression::constant(Value(0))});
  const std::vector<Constraint> constraints{{fits, "fits", 1}, {divides, "divides", 2}};
  const auto first = SearchSpace::build(parameters, constraints, {{"p.cols", Value(512)}});
  REQUIRE(first.ok());
  const auto other = SearchSpace::build(parameters, constraints, {{"p.cols", Value(2048)}}, &*first);
  const auto same = SearchSpace::build(parameters, constraints, {{"p.cols", Value(512)}}, &*other);
  const auto fresh = SearchSpace::build(parameters, constraints, {{"p.cols", Value(2048)}});
  REQUIRE((other.ok() && same.ok() && fresh.ok()));
  CHECK(other->figures().groups == 2);
  CHECK(other->figures().reused == 1);
  CHECK(same->figures().reused == 1);
  REQUIRE(text(other->size()) == text(fresh->size()));
  CHECK(text(same->size()) == text(first->size()));
  for (Count i = 0; i < fresh->size(); ++i) {
    REQUIRE(other->at(i) == fresh->at(i));
  }
}
