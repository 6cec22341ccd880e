#include <doctest/doctest.h>

#include "tests/search/harness.hpp"

namespace {

using namespace hone;
using namespace hone::test;

constexpr const char* kMembers[] = {
    "local_search",   "greedy_ils", "simulated_annealing", "dual_annealing", "genetic_algorithm", "differential_evolution",
    "particle_swarm", "random"};

Strategy portfolio_of(const SearchSpace& space, const std::vector<std::string>& members) {
  StrategyContext context = context_of(space, 3);
  for (const char* name : kMembers) {
    context.parameters[name] = std::find(members.begin(), members.end(), name) != members.end() ? 1 : 0;
  }
  return create("portfolio", std::move(context));
}

/// Told at once: with one outcome late a member that waits for it would lose every other turn.
std::vector<Count> run_promptly(Strategy& strategy, const SearchSpace& space, std::size_t budget) {
  std::vector<Count> proposed;
  while (proposed.size() < budget) {
    for (const Count position : strategy.ask(1)) {
      const Observation seen = bowl(space, position);
      strategy.tell({&seen, 1});
      proposed.push_back(position);
    }
  }
  return proposed;
}

}  // namespace

TEST_CASE("portfolio gives the turns to the member that does better") {
  const SearchSpace space = wide_space(8, 8);
  Strategy random = portfolio_of(space, {"random"}), both = portfolio_of(space, {"greedy_ils", "random"});
  const std::vector<Count> by_chance = run_promptly(random, space, 300), shared = run_promptly(both, space, 300);
  std::vector<double> times;
  for (const Count position : by_chance) {
    times.push_back(log_time(space, position));
  }
  std::sort(times.begin(), times.end());
  // One in ten of random's proposals is faster than this and nearly all of the climber's: equal turns would make it about half.
  const double fast = times[times.size() / 10];
  const std::span<const Count> late = std::span(shared).last(150);
  const auto fast_ones = std::count_if(late.begin(), late.end(), [&](Count position) { return log_time(space, position) < fast; });
  CHECK(fast_ones > 100);
}

TEST_CASE("A member is told what the others found") {
  const SearchSpace space = wide_space(8, 8);
  const Count good = *space.index(Digits(8, 3));
  Strategy strategy = portfolio_of(space, {"greedy_ils", "genetic_algorithm"});
  const Observation told = bowl(space, good);
  strategy.tell({&told, 1});
  const std::vector<Count> proposed = run(strategy, space, 1, 80, bowl);
  CHECK(std::count_if(proposed.begin(), proposed.end(), [&](Count position) { return hamming(space, position, good) == 1; }) > 5);
}

TEST_CASE("A portfolio without members searches at random") {
  const SearchSpace space = wide_space(3, 4);
  Strategy strategy = portfolio_of(space, {});
  CHECK(run(strategy, space, 4, 100, bowl).size() == 63);
}
