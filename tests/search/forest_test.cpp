#include "search/forest.hpp"

#include <doctest/doctest.h>

#include "tests/search/harness.hpp"

namespace {

using namespace hone;
using namespace hone::test;

/// Of 5 parameters of 6 values, as plugins see them; the last parameter is a label.
class Grid {
 public:
  static constexpr std::size_t kParameters = 5, kValues = 6;

  Grid() {
    for (std::size_t p = 0; p < kParameters; ++p) {
      dimensions_[p] = {"p", p + 1 == kParameters ? HONE_CATEGORICAL : HONE_ORDINAL, kValues, kNumbers, nullptr};
    }
    functions_.dimension_count = kParameters;
    functions_.dimensions = dimensions_;
  }
  [[nodiscard]] plugin::Space space() const { return plugin::Space(functions_); }
  [[nodiscard]] static std::vector<std::uint16_t> digits(plugin::Random& random, std::size_t count) {
    std::vector<std::uint16_t> digits(count * kParameters);
    std::ranges::generate(digits, [&] { return static_cast<std::uint16_t>(random.index(kValues)); });
    return digits;
  }

 private:
  static constexpr double kNumbers[kValues] = {1, 2, 4, 8, 16, 32};
  hone_dimension dimensions_[kParameters] = {};
  hone_space functions_{};
};

/// A slope, a valley, labels without an order, and two parameters that do not matter.
double additive(const std::uint16_t* digits) {
  constexpr double kOfLabel[] = {0.0, 1.5, 0.3, 2.0, 0.1, 1.0};
  const double valley = digits[1] - 2.0;
  return 0.5 * digits[0] + 0.3 * valley * valley + kOfLabel[digits[4]];
}

std::vector<double> additive(const std::vector<std::uint16_t>& digits) {
  std::vector<double> targets;
  for (std::size_t i = 0; i < digits.size(); i += Grid::kParameters) {
    targets.push_back(additive(&digits[i]));
  }
  return targets;
}

/// Mean squared error of the forest over that of the mean, at its candidates.
double unexplained(const search::Forest& forest, const std::vector<double>& truth) {
  std::vector<float> mean, variance;
  forest.predict(mean, variance);
  double middle = 0.0, missed = 0.0, all = 0.0;
  for (const double value : truth) {
    middle += value / static_cast<double>(truth.size());
  }
  for (std::size_t i = 0; i < truth.size(); ++i) {
    missed += (truth[i] - mean[i]) * (truth[i] - mean[i]);
    all += (truth[i] - middle) * (truth[i] - middle);
  }
  return missed / all;
}

struct Trained {
  Grid grid;
  plugin::Random random{1};
  std::vector<std::uint16_t> candidates = Grid::digits(random, 500), seen = Grid::digits(random, 200);
  std::vector<double> targets = additive(seen);
  search::Forest forest;

  explicit Trained(const search::ForestSettings& settings = {}) : forest(grid.space(), settings) { forest.candidates(candidates); }
};

}  // namespace

TEST_CASE("A forest predicts an additive function better than its mean does, in each of its kinds") {
  for (const bool bootstrap : {false, true}) {
    for (const double best_cuts : {0.0, 0.5, 1.0}) {
      CAPTURE(bootstrap);
      CAPTURE(best_cuts);
      Trained made({.bootstrap = bootstrap, .best_cuts = best_cuts});
      made.forest.grow(made.seen, made.targets, made.random);
      CHECK(unexplained(made.forest, additive(made.candidates)) < 0.25);
    }
  }
}

TEST_CASE("Observations added to a forest teach it nearly as much as growing it anew") {
  Trained made;
  constexpr std::size_t kFirst = 20;
  made.forest.grow({made.seen.data(), kFirst * Grid::kParameters}, {made.targets.data(), kFirst}, made.random);
  const double before = unexplained(made.forest, additive(made.candidates));
  for (std::size_t i = kFirst; i < made.targets.size(); ++i) {
    made.forest.add(&made.seen[i * Grid::kParameters], made.targets[i], made.random);
  }
  CHECK(made.forest.observations() == made.targets.size());
  CHECK(unexplained(made.forest, additive(made.candidates)) < std::min(0.3, 0.6 * before));
}

TEST_CASE("A forest predicts for its candidates what it predicts for single configurations") {
  Trained made;
  made.forest.grow(made.seen, made.targets, made.random);
  std::vector<float> mean, variance;
  made.forest.predict(mean, variance);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    CHECK(static_cast<double>(mean[i]) == doctest::Approx(made.forest.mean(&made.candidates[i * Grid::kParameters])).epsilon(1e-4));
  }
}

TEST_CASE("Without the bootstrap the trees agree where they have seen the outcome, and nowhere else") {
  Trained made({.bootstrap = false});
  made.forest.candidates(made.seen);
  made.forest.grow(made.seen, made.targets, made.random);
  std::vector<float> mean, variance;
  made.forest.predict(mean, variance);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    CHECK(static_cast<double>(mean[i]) == doctest::Approx(made.targets[i]).epsilon(1e-4));
    CHECK(variance[i] < 1e-3F);
  }
  made.forest.candidates(made.candidates);
  made.forest.grow(made.seen, made.targets, made.random);
  made.forest.predict(mean, variance);
  CHECK(std::ranges::count_if(variance, [](float value) { return value > 0.01F; }) > 400);
}

TEST_CASE("Other targets for the same observations change the predictions without new trees") {
  Trained made;
  made.forest.grow(made.seen, made.targets, made.random);
  const double before = made.forest.mean(made.candidates.data());
  std::ranges::for_each(made.targets, [](double& target) { target = 3.0 * target + 1.0; });
  made.forest.retarget(made.targets);
  CHECK(made.forest.mean(made.candidates.data()) == doctest::Approx(3.0 * before + 1.0));
}

TEST_CASE("A forest of one observation predicts it everywhere") {
  Trained made({.bootstrap = true});
  made.forest.grow({made.seen.data(), Grid::kParameters}, {made.targets.data(), 1}, made.random);
  CHECK(made.forest.mean(made.candidates.data()) == doctest::Approx(made.targets[0]));
}

TEST_CASE("tree_ensemble finds what random search does not") {
  const SearchSpace space = wide_space(6, 6);
  double trees = 0.0, random = 0.0;
  constexpr std::uint64_t kSeeds = 5;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Strategy model = create("tree_ensemble", space, seed), chance = create("random", space, seed);
    trees += best_log_time(space, run(model, space, 4, 80, bowl)) / kSeeds;
    random += best_log_time(space, run(chance, space, 4, 80, bowl)) / kSeeds;
  }
  CAPTURE(trees);
  CHECK(trees < random - 0.05);
}

TEST_CASE("tree_ensemble begins with what was best on another device") {
  const SearchSpace space = wide_space(6, 6);
  Prior prior{.device = "another", .dtype = "float", .shape = "", .observations = {}};
  std::mt19937_64 random(1);
  for (const Count position : space.sample(random, 300)) {
    prior.observations.push_back(bowl(space, position));
  }
  StrategyContext context = context_of(space, 1);
  context.priors.push_back(prior);
  Strategy experienced = create("tree_ensemble", context), fresh = create("tree_ensemble", space, 1);
  CHECK(median_log_time(space, run(experienced, space, 1, 8, bowl)) < median_log_time(space, run(fresh, space, 1, 8, bowl)) - 0.2);
}
