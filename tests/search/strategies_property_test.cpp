// What every strategy of this build promises, over random spaces.
#include <doctest/doctest.h>

#include "tests/search/harness.hpp"
#include "tests/space/random_space.hpp"

namespace {

using namespace hone;
using namespace hone::test;

constexpr std::uint64_t kSpaces = 40;
constexpr std::size_t kBudget = 150;

/// Calls check(name, space, seed) for every strategy and random space.
template <class Check>
void for_each_strategy(const Check& check) {
  for (std::uint64_t seed = 0; seed < kSpaces; ++seed) {
    const RandomSpace made = random_space(seed);
    const auto space = SearchSpace::build(made.parameters, made.constraints, {});
    for (const auto& plugin : builtin_registry().strategies()) {
      const std::string name(plugin->name());
      CAPTURE(seed);
      CAPTURE(name);
      if (space.ok()) {
        check(name, *space, seed);
      }
    }
  }
}

void check_distinct_and_valid(const SearchSpace& space, const std::vector<Count>& proposed, Count default_position) {
  std::set<Count> distinct(proposed.begin(), proposed.end());
  CHECK(distinct.size() == proposed.size());
  CHECK_FALSE(distinct.contains(default_position));
  CHECK((distinct.empty() || *distinct.rbegin() < space.size()));
}

}  // namespace

TEST_CASE("No strategy proposes anything invalid, anything twice or what it was told of") {
  for_each_strategy([](const std::string& name, const SearchSpace& space, std::uint64_t seed) {
    const Count standard = space.size() / 2;
    for (const std::size_t batch : {1, 7}) {
      auto strategy = create(name, space, seed, standard);
      check_distinct_and_valid(space, run(strategy, space, batch, kBudget, bowl, standard), standard);
    }
  });
}

TEST_CASE("Every strategy ends a small space exactly when all of it was proposed") {
  for_each_strategy([](const std::string& name, const SearchSpace& space, std::uint64_t seed) {
    if (space.size() > kBudget) {
      return;
    }
    for (const std::size_t batch : {std::size_t{1}, std::size_t{1000}}) {
      auto strategy = create(name, space, seed);
      const auto proposed = run(strategy, space, batch, 10 * kBudget, bowl);
      CHECK(proposed.size() + 1 == static_cast<std::size_t>(space.size()));
      CHECK(strategy.exhausted());
      CHECK(strategy.ask(3).empty());
    }
  });
}

TEST_CASE("Every strategy goes on where everything fails") {
  for_each_strategy([](const std::string& name, const SearchSpace& space, std::uint64_t seed) {
    auto strategy = create(name, space, seed);
    const auto proposed = run(strategy, space, 4, kBudget, failure);
    check_distinct_and_valid(space, proposed, 0);
    CHECK(proposed.size() >= std::min<std::size_t>(static_cast<std::size_t>(space.size()) - 1, kBudget));
  });
}

TEST_CASE("The same seed and outcomes give the same proposals") {
  for_each_strategy([](const std::string& name, const SearchSpace& space, std::uint64_t seed) {
    auto first = create(name, space, seed), second = create(name, space, seed);
    CHECK((run(first, space, 5, kBudget, bowl) == run(second, space, 5, kBudget, bowl)));
  });
}

TEST_CASE("A resumed history is not proposed again") {
  for_each_strategy([](const std::string& name, const SearchSpace& space, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<Observation> history;
    std::set<Count> told;
    for (const Count position : space.sample(random, static_cast<std::size_t>(std::min<Count>(30, space.size() / 2)))) {
      history.push_back(bowl(space, position));
      told.insert(position);
    }
    auto strategy = create(name, space, seed);
    strategy.tell(history);
    for (const Count position : run(strategy, space, 3, kBudget, bowl)) {
      CHECK_FALSE(told.contains(position));
    }
  });
}

TEST_CASE("A space of one configuration has a beginning and an end, also without parameters") {
  Parameter lone;
  lone.name = "x";
  lone.values = {Value(7)};
  lone.default_value = lone.values.front();
  for (const std::vector<Parameter>& parameters : {std::vector<Parameter>(), std::vector<Parameter>{lone}}) {
    const auto space = SearchSpace::build(parameters, {}, {});
    REQUIRE(space.ok());
    for (const auto& plugin : builtin_registry().strategies()) {
      const std::string name(plugin->name());
      CAPTURE(name);
      Strategy tried_before = create(name, *space, 1);
      CHECK(run(tried_before, *space, 4, 10, bowl).empty());
      StrategyContext context = context_of(*space, 1);
      context.first.reset();
      context.priors = {{.device = "d", .dtype = "t", .shape = "", .observations = std::vector<Observation>(6, bowl(*space, 0))}};
      Strategy fresh = create(name, std::move(context));
      CHECK((fresh.ask(4) == std::vector<Count>{0}));
      const Observation outcome = bowl(*space, 0);
      fresh.tell({&outcome, 1});
      CHECK(fresh.ask(4).empty());
      check_faultless(fresh);
    }
  }
}

TEST_CASE("A time that is none counts as a failure, told or recorded elsewhere") {
  const SearchSpace space = wide_space(3, 6);
  const auto proposals = [&](const std::string& name, Outcome outcome, double time_us) {
    const auto observe = [&](const SearchSpace& of, Count position) {
      Observation observation = bowl(of, position);
      if (position % 5 == 2) {
        observation.outcome = outcome;
        observation.time_us = time_us;
      }
      return observation;
    };
    StrategyContext context = context_of(space, 1);
    Prior& prior = context.priors.emplace_back();
    for (Count position = 0; position < space.size(); position += 3) {
      prior.observations.push_back(observe(space, position));
    }
    Strategy strategy = create(name, std::move(context));
    return run(strategy, space, 3, 60, observe);
  };
  for (const auto& plugin : builtin_registry().strategies()) {
    const std::string name(plugin->name());
    const std::vector<Count> expected = proposals(name, Outcome::kLaunchFailure, 1.0);
    for (const double time_us : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
      CAPTURE(name);
      CAPTURE(time_us);
      CHECK((proposals(name, Outcome::kOk, time_us) == expected));
    }
  }
}

TEST_CASE("What was too slow, since it was slower than the default, counts with its time") {
  const SearchSpace space = wide_space(3, 6);
  const double standard = bowl(space, 0).time_us;
  const auto proposals = [&](const std::string& name, Outcome outcome) {
    const auto observe = [&](const SearchSpace& of, Count position) {
      Observation observation = bowl(of, position);
      if (observation.outcome == Outcome::kOk && observation.time_us > standard) {
        observation.outcome = outcome;
      }
      return observation;
    };
    Strategy strategy = create(name, space, 1);
    return run(strategy, space, 3, 60, observe);
  };
  for (const auto& plugin : builtin_registry().strategies()) {
    const std::string name(plugin->name());
    CAPTURE(name);
    if (name != "portfolio") {  // which gives no member a reward for it
      CHECK((proposals(name, Outcome::kTooSlow) == proposals(name, Outcome::kOk)));
    }
  }
  for (const std::string name : {"auto", "bayesian", "tree_ensemble", "local_search"}) {  // those that model times
    CAPTURE(name);
    CHECK((proposals(name, Outcome::kTooSlow) != proposals(name, Outcome::kTimeout)));
  }
}

TEST_CASE("Declared parameters have a name, a text and a default in their range") {
  for (const auto& plugin : builtin_registry().strategies()) {
    CHECK_FALSE(plugin->summary().empty());
    for (const StrategyParameter& parameter : plugin->parameters()) {
      CAPTURE(parameter.name);
      CHECK_FALSE(parameter.help.empty());
      CHECK(parameter.minimum <= parameter.default_value);
      CHECK(parameter.default_value <= parameter.maximum);
    }
  }
}
