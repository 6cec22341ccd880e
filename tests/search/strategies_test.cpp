// What each strategy is for.
#include <doctest/doctest.h>

#include <map>

#include "tests/search/harness.hpp"

namespace {

using namespace hone;
using namespace hone::test;

SearchSpace wide_space(std::size_t parameters, int values) {
  std::vector<Parameter> all;
  for (std::size_t p = 0; p < parameters; ++p) {
    Parameter& parameter = all.emplace_back();
    parameter.name = "x" + std::to_string(p);
    for (int value = 0; value < values; ++value) {
      parameter.values.emplace_back(value);
    }
    parameter.default_value = parameter.values.front();
  }
  return std::move(SearchSpace::build(std::move(all), {}, {})).value();
}

double best_of(const SearchSpace& space, const std::vector<Count>& proposed) {
  double best = 1e300;
  for (const Count position : proposed) {
    const Observation seen = bowl(space, position);
    best = seen.outcome == Outcome::kOk ? std::min(best, seen.time_us) : best;
  }
  return best;
}

}  // namespace

TEST_CASE("exhaustive goes through the space in order") {
  const SearchSpace space = wide_space(2, 5);
  auto strategy = create("exhaustive", space, 1, 3);
  const auto proposed = run(strategy, space, 4, 100, bowl, 3);
  CHECK(proposed.size() == 24);
  CHECK(std::is_sorted(proposed.begin(), proposed.end()));
}

TEST_CASE("random is uniform, first proposals as later ones") {
  const SearchSpace space = wide_space(2, 4);
  std::map<Count, int> first, sixth;
  constexpr int kRounds = 3000;
  for (int seed = 0; seed < kRounds; ++seed) {
    const auto proposed = create("random", space, static_cast<std::uint64_t>(seed)).ask(6);
    ++first[proposed.front()];
    ++sixth[proposed.back()];
  }
  for (Count position = 1; position < space.size(); ++position) {
    CHECK(first[position] == doctest::Approx(kRounds / 15.0).epsilon(0.3));
    CHECK(sixth[position] == doctest::Approx(kRounds / 15.0).epsilon(0.3));
  }
}

TEST_CASE("Strategies that follow outcomes work on spaces beyond 64 bits") {
  const SearchSpace space = wide_space(24, 8);
  for (const char* name : {"random", "local_search"}) {
    CAPTURE(name);
    auto strategy = create(name, space, 1);
    const auto proposed = run(strategy, space, 1, 60, bowl);
    CHECK(proposed.size() == 60);
    CHECK(std::set<Count>(proposed.begin(), proposed.end()).size() == 60);
  }
}

TEST_CASE("local_search finds the bottom of a bowl that random misses") {
  const SearchSpace space = wide_space(6, 8);  // 262144 configurations
  double sum_local = 0.0, sum_random = 0.0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Strategy local = create("local_search", space, seed), random = create("random", space, seed);
    sum_local += best_of(space, run(local, space, 1, 100, bowl));
    sum_random += best_of(space, run(random, space, 1, 100, bowl));
  }
  CHECK(std::log(sum_local / 5) < 1.05);  // the bottom is near 1.01
  CHECK(sum_local < 0.95 * sum_random);
}

TEST_CASE("Outcomes may come late: a batch is proposed without any") {
  const SearchSpace space = wide_space(6, 8);
  auto strategy = create("local_search", space, 1);
  const auto first = strategy.ask(40), second = strategy.ask(40);
  CHECK(first.size() == 40);
  CHECK(second.size() == 40);
}
