// What makes each classical algorithm the one it is called.
#include <doctest/doctest.h>

#include "tests/search/harness.hpp"

namespace {

using namespace hone;
using namespace hone::test;

/// The default at first, then what the strategy proposes one by one.
std::vector<Count> path(std::string_view name, const SearchSpace& space, StrategyContext context, std::size_t budget) {
  Strategy strategy = create(name, std::move(context));
  std::vector<Count> path{0};
  const std::vector<Count> proposed = run(strategy, space, 1, budget, bowl);
  path.insert(path.end(), proposed.begin(), proposed.end());
  return path;
}

Count fastest(const SearchSpace& space, std::span<const Count> positions) {
  return *std::min_element(positions.begin(), positions.end(), [&](Count a, Count b) { return log_time(space, a) < log_time(space, b); });
}

}  // namespace

TEST_CASE("greedy_ils climbs: it tries neighbours of the best known") {
  const SearchSpace space = wide_space(8, 8);
  StrategyContext context = context_of(space, 3);
  context.parameters["initial"] = 5;
  const std::vector<Count> all = path("greedy_ils", space, context, 40);
  for (std::size_t i = 5; i < all.size(); ++i) {
    CHECK(hamming(space, all[i], fastest(space, std::span(all).first(i))) == 1);
  }
}

TEST_CASE("Nothing climbs from what was too slow, whatever its time") {
  const SearchSpace space = wide_space(8, 8);
  StrategyContext context = context_of(space, 3);
  context.parameters["initial"] = 1;
  Strategy strategy = create("greedy_ils", context);
  const Observation standard = bowl(space, 0);
  Observation slow = bowl(space, *space.index(Digits(8, 6)));
  slow.outcome = Outcome::kTooSlow;
  slow.time_us = 1e-3;
  strategy.tell(std::vector{standard, slow});
  for (const Count position : run(strategy, space, 1, 30, bowl)) {
    CHECK(hamming(space, position, slow.position) > 1);
  }
}

TEST_CASE("simulated_annealing walks over neighbours, also from slower places than the best") {
  const SearchSpace space = wide_space(8, 8);
  StrategyContext context = context_of(space, 3);
  context.parameters["initial"] = 2;
  context.parameters["hot"] = context.parameters["cold"] = 0.3;
  const std::vector<Count> all = path("simulated_annealing", space, context, 80);
  int elsewhere = 0;
  for (std::size_t i = 3; i < all.size(); ++i) {
    CHECK(std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i),
                      [&](Count known) { return hamming(space, all[i], known) == 1; }));
    elsewhere += hamming(space, all[i], fastest(space, std::span(all).first(i))) > 1 ? 1 : 0;
  }
  CHECK(elsewhere > 10);
}

TEST_CASE("dual_annealing jumps far and searches around a new best") {
  const SearchSpace space = wide_space(8, 8);
  const std::vector<Count> all = path("dual_annealing", space, context_of(space, 3), 150);
  int far = 0, around_best = 0;
  for (std::size_t i = 20; i < all.size(); ++i) {
    const std::size_t steps = hamming(space, all[i], fastest(space, std::span(all).first(i)));
    far += steps > 3 ? 1 : 0;
    around_best += steps == 1 ? 1 : 0;
  }
  CHECK(far > 5);
  CHECK(around_best > 40);
}

TEST_CASE("genetic_algorithm makes children of the values of their parents") {
  const SearchSpace space = wide_space(16, 8);
  StrategyContext context = context_of(space, 3);
  context.parameters["population"] = 3;
  context.parameters["mutation"] = 0;
  const std::vector<Count> all = path("genetic_algorithm", space, context, 12);
  int inherited = 0;
  for (std::size_t i = 4; i < all.size(); ++i) {
    const Digits child = space.digits(all[i]);
    for (std::size_t p = 0; p < child.size(); ++p) {
      inherited += std::any_of(all.begin(), all.begin() + 4, [&](Count parent) { return space.digits(parent)[p] == child[p]; }) ? 1 : 0;
    }
  }
  CHECK(inherited > 0.8 * 16 * static_cast<double>(all.size() - 4));  // by chance less than half
}

TEST_CASE("Populations close in on the bottom: later proposals are faster than earlier ones") {
  const SearchSpace space = wide_space(8, 8);
  for (const std::string name : {"genetic_algorithm", "differential_evolution", "particle_swarm", "reinforcement"}) {
    CAPTURE(name);
    const std::vector<Count> all = path(name, space, context_of(space, 3), 200);
    const std::span<const Count> view(all);
    CHECK(median_log_time(space, view.last(50)) < median_log_time(space, view.first(50)) - 0.2);
  }
}

TEST_CASE("A resumed history is begun from: the next proposals are near its best") {
  const SearchSpace space = wide_space(8, 8);
  const Count good = *space.index(Digits(8, 3));
  for (const std::string name : {"greedy_ils", "simulated_annealing", "dual_annealing"}) {
    CAPTURE(name);
    Strategy strategy = create(name, space, 1);
    const Observation told = bowl(space, good);
    REQUIRE(told.outcome == Outcome::kOk);
    strategy.tell({&told, 1});
    const std::vector<Count> proposed = run(strategy, space, 1, 60, bowl);
    CHECK(std::count_if(proposed.begin(), proposed.end(), [&](Count position) { return hamming(space, position, good) == 1; }) > 5);
  }
}

TEST_CASE("Populations begin with the best of what is known of other devices") {
  const SearchSpace space = wide_space(8, 8);
  const Count good = *space.index(Digits(8, 3));
  Prior prior{
      .device = "another", .dtype = "float", .shape = "", .observations = {bowl(space, 77), bowl(space, good), bowl(space, 1234567)}};
  for (const std::string name : {"greedy_ils", "genetic_algorithm", "differential_evolution", "particle_swarm", "reinforcement"}) {
    CAPTURE(name);
    StrategyContext context = context_of(space, 1);
    context.priors = {prior};
    Strategy strategy = create(name, std::move(context));
    const std::vector<Count> proposed = run(strategy, space, 1, 10, bowl);
    CHECK(std::find(proposed.begin(), proposed.end(), good) != proposed.end());
  }
}

TEST_CASE("A batch is answered as a whole: guesses of annealing and climbing fill it") {
  const SearchSpace space = wide_space(8, 8);
  for (const std::string name : {"greedy_ils", "simulated_annealing", "dual_annealing", "genetic_algorithm", "differential_evolution"}) {
    CAPTURE(name);
    Strategy strategy = create(name, space, 1);
    const Observation standard = bowl(space, 0);
    strategy.tell({&standard, 1});
    std::size_t smallest = 8;
    for (int turn = 0; turn < 30; ++turn) {
      std::vector<Observation> seen;
      for (const Count position : strategy.ask(8)) {
        seen.push_back(bowl(space, position));
      }
      strategy.tell(seen);
      smallest = turn < 20 ? smallest : std::min(smallest, seen.size());
    }
    CHECK(smallest >= 4);
  }
}
