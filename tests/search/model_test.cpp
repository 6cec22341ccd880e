#include "search/model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/search/grid.hpp"

namespace {

using namespace hone;
using namespace hone::search;
using test::counting;
using test::Grid;

/// Log time above the best.
double slower(const plugin::Digits& digits) { return 0.05 * std::pow(digits[0] - 3.0, 2) + 0.02 * digits[1]; }

Known known(const Grid& grid, plugin::Position position, double factor = 1.0) {
  plugin::Digits digits = grid.space().at(position);
  const double time = 3.0 * std::exp(factor * slower(digits));
  return {position, std::move(digits), time};
}

std::vector<Known> every(const Grid& grid, plugin::Position step) {
  std::vector<Known> all;
  for (plugin::Position position = 0; position < grid.space().size(); position += step) {
    all.push_back(known(grid, position));
  }
  return all;
}

struct Taught {
  Grid grid{{counting(10), counting(8)}};
  Metric metric{grid.space(), false};
  Candidates candidates{grid.space()};
  plugin::Random random{1};

  [[nodiscard]] std::vector<float> elsewhere(double factor) const {
    std::vector<float> values;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      values.push_back(static_cast<float>(factor * slower(grid.space().at(i))));
    }
    return values;
  }
};

double largest_variance(const Model& model, const std::vector<Known>& known) {
  double largest = 0.0;
  for (const Known& one : known) {
    largest = std::max(largest, static_cast<double>(model.variance()[static_cast<std::size_t>(one.position)]));
  }
  return largest;
}

}  // namespace

TEST_CASE("A model predicts what it was told and orders what it was not") {
  Taught setup;
  Model model(setup.metric, setup.candidates, {.scale = {.compression = 0.0}});
  model.renew({});
  const std::vector<Known> told = every(setup.grid, 3);
  model.learn(told, setup.random);
  const auto best = std::min_element(model.mean().begin(), model.mean().end()) - model.mean().begin();
  CHECK(best % 10 == 3);
  CHECK(best / 10 <= 1);
  CHECK(model.mean()[static_cast<std::size_t>(best)] == doctest::Approx(model.best()).epsilon(0.2).scale(1.0));
  CHECK(largest_variance(model, told) < 0.02);
}

TEST_CASE("Awaited configurations are known at their mean until the next lesson") {
  Taught setup;
  Model model(setup.metric, setup.candidates, {});
  model.renew({});
  std::vector<Known> told = every(setup.grid, 7);
  model.learn(told, setup.random);
  const std::vector<float> mean = model.mean();
  const float unsure = model.variance()[5];
  model.await(5, setup.grid.space().at(5));
  CHECK(model.awaited() == 1);
  CHECK((model.mean() == mean));
  CHECK(model.variance()[5] < 0.5F * unsure);
  told.push_back(known(setup.grid, 6));
  Model other(setup.metric, setup.candidates, {});
  other.renew({});
  plugin::Random same(1);
  other.learn({told.begin(), told.end() - 1}, same);
  other.learn(told, same);
  model.learn(told, setup.random);
  CHECK(model.awaited() == 0);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    CHECK(model.mean()[i] == doctest::Approx(other.mean()[i]).epsilon(1e-3).scale(1.0));
    CHECK(model.variance()[i] == doctest::Approx(other.variance()[i]).epsilon(1e-2).scale(0.1));
  }
}

TEST_CASE("Renewed, a model of the same candidates says the same") {
  Taught setup;
  Model model(setup.metric, setup.candidates, {});
  model.renew({setup.elsewhere(0.5)});
  const std::vector<Known> told = every(setup.grid, 5);
  model.learn(told, setup.random);
  const std::vector<float> mean = model.mean(), variance = model.variance();
  model.await(5, setup.grid.space().at(5));
  model.renew({setup.elsewhere(0.5)});
  model.learn(told, setup.random);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    CHECK(model.mean()[i] == doctest::Approx(mean[i]).epsilon(1e-3).scale(1.0));
    CHECK(model.variance()[i] == doctest::Approx(variance[i]).epsilon(1e-2).scale(0.1));
  }
}

TEST_CASE("Where much is known little is unsure, also when the scale changes between fits") {
  Taught setup;
  Model model(setup.metric, setup.candidates, {.scale = {.compression = 0.0}, .refit_every = 1000, .trust = 2.0});
  model.renew({setup.elsewhere(1.0)});
  std::vector<Known> told{known(setup.grid, 13, 0.1), known(setup.grid, 14, 0.1), known(setup.grid, 25, 0.1)};
  model.learn(told, setup.random);
  const double before = largest_variance(model, told);
  for (plugin::Position position = 40; position < 80; position += 5) {
    told.push_back(known(setup.grid, position, 3.0));  // far slower than all before: one unit of the scale is more now
    model.learn(told, setup.random);
  }
  CHECK(before < 0.02);
  CHECK(largest_variance(model, told) < 0.02);
  for (const float variance : model.variance()) {
    REQUIRE(variance > -1e-3F);
  }
}

TEST_CASE("A source fills in what is not known, and is dropped when outcomes contradict it") {
  Taught setup;
  const std::vector<Known> few{known(setup.grid, 0), known(setup.grid, 9), known(setup.grid, 75)};
  Model guided(setup.metric, setup.candidates, {});
  guided.renew({setup.elsewhere(1.0)});
  guided.learn(few, setup.random);
  CHECK((std::min_element(guided.mean().begin(), guided.mean().end()) - guided.mean().begin()) % 10 == 3);
  Model misled(setup.metric, setup.candidates, {});
  misled.renew({setup.elsewhere(-1.0)});
  misled.learn(every(setup.grid, 3), setup.random);
  CHECK((std::min_element(misled.mean().begin(), misled.mean().end()) - misled.mean().begin()) % 10 == 3);
}

TEST_CASE("Where outcomes failed the share of good ones is low") {
  Taught setup;
  std::vector<Known> told = every(setup.grid, 3);
  for (Known& one : told) {
    one.time_us = one.digits[0] > 6 ? std::numeric_limits<double>::infinity() : one.time_us;
  }
  Model model(setup.metric, setup.candidates, {});
  model.renew({});
  model.learn(told, setup.random);
  const std::vector<float> share = model.feasibility(told);
  CHECK(share[setup.candidates.size() - 1] < share[0] - 0.1F);
  CHECK((model.feasibility(told) == share));
}
