// A search space against the list of its configurations, over random parameters and constraints.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "tests/space/long_tests.hpp"
#include "tests/space/random_space.hpp"

namespace {

using namespace hone;
using namespace hone::test;

std::uint64_t random_spaces() { return long_tests() ? 20'000 : 400; }

int differences(const SearchSpace& space, const Configuration& a, const Configuration& b, bool by_one_step) {
  int different = 0;
  for (std::size_t p = 0; p < a.values.size(); ++p) {
    const auto& values = space.parameters()[p].values;
    const auto step = std::abs(std::find(values.begin(), values.end(), a.values[p]) - std::find(values.begin(), values.end(), b.values[p]));
    different += step == 0 ? 0 : (by_one_step && step > 1 ? 100 : 1);
  }
  return different;
}

void check_neighbours(const SearchSpace& space, const std::vector<Configuration>& valid, std::size_t of, Neighbourhood kind) {
  std::vector<Count> expected;
  for (std::size_t i = 0; i < valid.size(); ++i) {
    if (differences(space, valid[of], valid[i], kind == Neighbourhood::kAdjacent) == 1) {
      expected.push_back(i);
    }
  }
  CHECK(space.neighbours(of, kind) == expected);
}

template <class Check>
void for_each_space(const Check& check) {
  for (std::uint64_t seed = 0; seed < random_spaces(); ++seed) {
    CAPTURE(seed);
    const RandomSpace made = random_space(seed);
    for (const Constraint& constraint : made.constraints) {
      CAPTURE(constraint.text);
    }
    check(made, enumerate(made), SearchSpace::build(made.parameters, made.constraints, {}));
  }
}

}  // namespace

TEST_CASE("A space holds exactly the valid configurations, in lexicographic order") {
  for_each_space([](const RandomSpace&, const std::vector<Configuration>& valid, const Result<SearchSpace>& space) {
    if (valid.empty()) {
      CHECK_FALSE(space.ok());
      CHECK((!space.ok() && space.error().code == ErrorCode::kEmptySpace));
      return;
    }
    REQUIRE_MESSAGE(space.ok(), (space.ok() ? "" : space.error().message));
    REQUIRE(text(space->size()) == std::to_string(valid.size()));
    for (std::size_t i = 0; i < valid.size(); ++i) {
      REQUIRE(text(space->parameters(), space->at(i)) == text(space->parameters(), valid[i]));
      REQUIRE(space->index(valid[i]) == Count{i});
    }
  });
}

TEST_CASE("Configurations that are not valid have no position") {
  for_each_space([](const RandomSpace& made, const std::vector<Configuration>& valid, const Result<SearchSpace>& space) {
    if (valid.empty()) {
      return;
    }
    const std::vector<Configuration> all = enumerate({made.parameters, {}});
    CHECK(space->cartesian() == all.size());
    const auto members = std::count_if(all.begin(), all.end(), [&](const Configuration& c) { return space->contains(c); });
    CHECK(static_cast<std::size_t>(members) == valid.size());
  });
}

TEST_CASE("Neighbours are the valid configurations that differ in one parameter") {
  for_each_space([](const RandomSpace&, const std::vector<Configuration>& valid, const Result<SearchSpace>& space) {
    for (std::size_t i = 0; i < valid.size(); i += 1 + valid.size() / 4) {
      check_neighbours(*space, valid, i, Neighbourhood::kHamming);
      check_neighbours(*space, valid, i, Neighbourhood::kAdjacent);
    }
  });
}

TEST_CASE("The same rows give the same space") {
  for_each_space([](const RandomSpace& made, const std::vector<Configuration>& valid, const Result<SearchSpace>&) {
    std::vector<std::vector<std::uint16_t>> rows;
    for (const Configuration& configuration : valid) {
      auto& row = rows.emplace_back();
      for (std::size_t p = 0; p < configuration.values.size(); ++p) {
        const auto& values = made.parameters[p].values;
        row.push_back(static_cast<std::uint16_t>(std::find(values.begin(), values.end(), configuration.values[p]) - values.begin()));
      }
    }
    std::reverse(rows.begin(), rows.end());
    const auto space = SearchSpace::from_rows(made.parameters, rows);
    REQUIRE(space.ok() == !valid.empty());
    for (std::size_t i = 0; i < valid.size(); ++i) {
      REQUIRE(space->index(valid[i]) == Count{i});
    }
  });
}

TEST_CASE("Samples without replacement are distinct and can be the whole space") {
  for_each_space([](const RandomSpace&, const std::vector<Configuration>& valid, const Result<SearchSpace>& space) {
    if (valid.empty()) {
      return;
    }
    std::mt19937_64 random(1);
    for (const std::size_t wanted : {std::size_t{0}, valid.size() / 2, valid.size(), valid.size() + 3}) {
      const std::vector<Count> drawn = space->sample(random, wanted);
      CHECK(drawn.size() == std::min(wanted, valid.size()));
      const std::set<Count> distinct(drawn.begin(), drawn.end());
      CHECK(distinct.size() == drawn.size());
      CHECK((distinct.empty() || *distinct.rbegin() < space->size()));
    }
  });
}
