// Spaces whose parameters are small and tied together, against the list of their configurations.
#include <cmath>
#include <limits>

#include "tests/space/long_tests.hpp"
#include "tests/space/tied_space.hpp"

namespace {

using namespace hone;
using namespace hone::test;

std::uint64_t tied_spaces() { return long_tests() ? 30'000 : 800; }
std::size_t most_combinations() { return long_tests() ? 12'000 : 4'000; }

/// Every valid configuration has its position, in order, and nothing else has one.
void check_positions(const SearchSpace& space, const std::vector<Digits>& valid) {
  REQUIRE(text(space.size()) == std::to_string(valid.size()));
  Digits digits(space.parameters().size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < valid.size(); ++i) {
    space.digits(i, digits);
    wrong += digits == valid[i] && space.index(valid[i]) == Count{i} ? 0 : 1;
  }
  CHECK(wrong == 0);
  std::size_t members = 0;
  for (const Digits& any : enumerate(space.parameters(), {}, {})) {
    members += space.index(any) ? 1 : 0;
  }
  CHECK(members == valid.size());
}

void check_neighbours(const SearchSpace& space, const std::vector<Digits>& valid, std::size_t of, Neighbourhood kind) {
  std::vector<Count> expected;
  for (std::size_t i = 0; i < valid.size(); ++i) {
    int different = 0, steps = 0;
    for (std::size_t p = 0; p < valid[i].size(); ++p) {
      different += valid[i][p] != valid[of][p] ? 1 : 0;
      steps += std::abs(valid[i][p] - valid[of][p]);
    }
    if (different == 1 && (kind == Neighbourhood::kHamming || steps == 1)) {
      expected.push_back(i);
    }
  }
  CHECK(space.neighbours(of, kind) == expected);
}

double distance(const std::vector<Parameter>& parameters, const Digits& a, const Digits& b) {
  double sum = 0.0;
  for (std::size_t p = 0; p < a.size(); ++p) {
    const double steps = std::abs(a[p] - b[p]), last = static_cast<double>(parameters[p].values.size()) - 1.0;
    sum += parameters[p].kind == ParameterKind::kEnumeration ? std::min(steps, 1.0) : last == 0.0 ? 0.0 : steps / last;
  }
  return sum;
}

void check_nearest(const SearchSpace& space, const std::vector<Digits>& valid, std::mt19937_64& random) {
  Digits point;
  for (const Parameter& parameter : space.parameters()) {
    point.push_back(static_cast<std::uint16_t>(pick(random, parameter.values.size())));
  }
  double least = std::numeric_limits<double>::infinity();
  for (const Digits& digits : valid) {
    least = std::min(least, distance(space.parameters(), point, digits));
  }
  CHECK(distance(space.parameters(), point, space.digits(space.nearest(point))) == doctest::Approx(least));
}

void check(const Result<SearchSpace>& space, const std::vector<Digits>& valid, std::uint64_t seed) {
  if (valid.empty()) {
    REQUIRE_FALSE(space.ok());
    CHECK_MESSAGE(space.error().code == ErrorCode::kEmptySpace, space.error().message);
    return;
  }
  REQUIRE_MESSAGE(space.ok(), (space.ok() ? "" : space.error().message));
  REQUIRE(space->exact());
  check_positions(*space, valid);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 2; ++i) {
    const std::size_t of = pick(random, valid.size());
    check_neighbours(*space, valid, of, Neighbourhood::kHamming);
    check_neighbours(*space, valid, of, Neighbourhood::kAdjacent);
    check_nearest(*space, valid, random);
  }
}

}  // namespace

TEST_CASE("Spaces of many small parameters that are tied together agree with the list of their configurations") {
  for (std::uint64_t seed = 0; seed < tied_spaces(); ++seed) {
    const TiedSpace made(seed, most_combinations());
    CAPTURE(seed);
    CAPTURE(fmt::format("{}", fmt::join(made.texts, "; ")));
    const auto constraints = conditions(made.parameters, made.texts);
    check(SearchSpace::build(made.parameters, constraints, {}), enumerate(made.parameters, constraints, {}), seed);
  }
}

TEST_CASE("Spaces that take groups over from another shape's are those built anew") {
  for (std::uint64_t seed = 0; seed < tied_spaces() / 4; ++seed) {
    const TiedSpace made(seed, most_combinations() / 4);
    CAPTURE(seed);
    CAPTURE(fmt::format("{}", fmt::join(made.texts, "; ")));
    auto constraints = conditions(made.parameters, made.texts);
    const auto last = Expression::variable("c." + made.parameters.back().name);
    constraints.push_back({Expression::make(Operator::kLessEqual, {last, Expression::variable("p.most")}), "within the shape", 0});
    std::optional<SearchSpace> previous;
    for (const std::int64_t most : {9, 2, 9}) {
      const Bindings fixed{{"p.most", Value(most)}};
      auto space = SearchSpace::build(made.parameters, constraints, fixed, previous ? &*previous : nullptr);
      check(space, enumerate(made.parameters, constraints, fixed), seed);
      if (space.ok()) {
        previous.emplace(std::move(*space));
      }
    }
  }
}
