// What each strategy is for.
#include <doctest/doctest.h>

#include <map>

#include "tests/search/harness.hpp"

using namespace hone;
using namespace hone::test;

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

TEST_CASE("Every strategy works on spaces beyond 64 bits") {
  const SearchSpace space = wide_space(24, 8);
  for (const auto& plugin : builtin_registry().strategies()) {
    const std::string name(plugin->name());
    CAPTURE(name);
    auto strategy = create(name, space, 1);
    const auto proposed = run(strategy, space, 1, 60, bowl);
    CHECK(proposed.size() == 60);
    CHECK(std::set<Count>(proposed.begin(), proposed.end()).size() == 60);
  }
}

TEST_CASE("Strategies that learn find a better place of a bowl than random does") {
  const SearchSpace space = wide_space(6, 8);  // 262144 configurations
  constexpr int kSeeds = 5;
  const auto mean_best = [&](std::string_view name) {
    double sum = 0.0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      Strategy strategy = create(name, space, seed);
      sum += best_log_time(space, run(strategy, space, 1, 150, bowl));
    }
    return sum / kSeeds;
  };
  const double bottom = 1.01, random = mean_best("random") - bottom;
  for (const std::string name : {"local_search", "greedy_ils", "simulated_annealing", "dual_annealing", "genetic_algorithm",
                                 "differential_evolution", "particle_swarm", "reinforcement", "portfolio"}) {
    CAPTURE(name);
    CHECK(mean_best(name) - bottom < 0.7 * random);
  }
}

TEST_CASE("Outcomes may come late: a batch is proposed without any") {
  const SearchSpace space = wide_space(6, 8);
  auto strategy = create("local_search", space, 1);
  const auto first = strategy.ask(40), second = strategy.ask(40);
  CHECK(first.size() == 40);
  CHECK(second.size() == 40);
}
