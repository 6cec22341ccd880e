#include <doctest/doctest.h>

#include "tests/search/harness.hpp"

namespace {

using namespace hone;
using namespace hone::test;

std::string learned(const SearchSpace& space) {
  Strategy strategy = create("reinforcement", space, 1);
  run(strategy, space, 1, 150, bowl);
  return strategy.save();
}

/// The last word of each line.
std::vector<double> numbers(const std::string& model) {
  std::vector<double> numbers;
  for (std::size_t end = model.find('\n'); end != std::string::npos; end = model.find('\n', end + 1)) {
    numbers.push_back(std::stod(model.substr(model.rfind('\t', end) + 1)));
  }
  return numbers;
}

/// Of its first proposals.
double median_start(const SearchSpace& space, StrategyContext context) {
  Strategy strategy = create("reinforcement", std::move(context));
  return median_log_time(space, run(strategy, space, 1, 40, bowl));
}

}  // namespace

TEST_CASE("reinforcement begins a later session with what it learned") {
  const SearchSpace space = wide_space(6, 8);
  StrategyContext experienced = context_of(space, 7);
  experienced.model = learned(space);
  CHECK(median_start(space, experienced) < median_start(space, context_of(space, 7)) - 0.1);
}

TEST_CASE("A policy is saved as a number for each value of each parameter, and unchanged by a session without outcomes") {
  const SearchSpace space = wide_space(3, 4);
  const std::string model = learned(space);
  CHECK(std::count(model.begin(), model.end(), '\n') == 12);
  CHECK(model.find("x2\t3\t") != std::string::npos);
  StrategyContext context = context_of(space, 1);
  context.model = model;
  const std::vector<double> before = numbers(model), after = numbers(create("reinforcement", context).save());
  REQUIRE(before.size() == after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    CHECK(after[i] == doctest::Approx(before[i]).epsilon(1e-3));
  }
}

TEST_CASE("A policy of other parameters or values is used as far as it fits") {
  const SearchSpace space = wide_space(6, 8), larger = wide_space(7, 9);
  StrategyContext experienced = context_of(larger, 7);
  experienced.model = learned(space);
  CHECK(median_start(larger, experienced) < median_start(larger, context_of(larger, 7)) - 0.05);
}

TEST_CASE("A model that is no policy is ignored") {
  const SearchSpace space = wide_space(6, 8);
  Strategy fresh = create("reinforcement", space, 7);
  const auto expected = run(fresh, space, 1, 30, bowl);
  for (const char* text : {"", "\n\n", "x0", "x0\t1", "x0\t1\t", "x0\t1\tnan\n", "x0\t99\t5\n", "y\t1\t5\n", "x0\t1\tfast\n\t\t\t\n"}) {
    CAPTURE(text);
    StrategyContext context = context_of(space, 7);
    context.model = text;
    Strategy strategy = create("reinforcement", std::move(context));
    CHECK((run(strategy, space, 1, 30, bowl) == expected));
  }
}

TEST_CASE("What is known of other devices teaches the policy before the session") {
  const SearchSpace space = wide_space(6, 8);
  std::mt19937_64 random(1);
  Prior prior{.device = "another", .dtype = "float", .shape = "", .observations = {}};
  for (const Count position : space.sample(random, 150)) {
    prior.observations.push_back(bowl(space, position));
    prior.observations.back().time_us *= 7;
  }
  StrategyContext context = context_of(space, 7);
  context.priors = {prior};
  CHECK(median_start(space, context) < median_start(space, context_of(space, 7)) - 0.1);
}
