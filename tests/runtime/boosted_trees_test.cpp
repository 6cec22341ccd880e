// Boosted trees: what they learn, and that they always learn the same.
#include "engine/store/boosted_trees.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "engine/base/cores.hpp"

namespace hone {
namespace {

/// Two features from 0 to 15, and one that says nothing.
TreeSamples grid(double (*target)(double x, double y)) {
  TreeSamples samples{.features = 3, .rows = {}, .targets = {}, .weights = {}};
  for (int x = 0; x < 16; ++x) {
    for (int y = 0; y < 16; ++y) {
      samples.rows.insert(samples.rows.end(), {static_cast<float>(x), static_cast<float>(y), 7.0F});
      samples.targets.push_back(target(x, y));
      samples.weights.push_back(1.0);
    }
  }
  return samples;
}

double expect(const BoostedTrees& trees, float x, float y) {
  const std::array<float, 3> row{x, y, 7.0F};
  return trees.expect(row);
}

/// So many rows of one feature, whose target it is.
TreeSamples counted(int rows) {
  TreeSamples samples{.features = 1, .rows = {}, .targets = {}, .weights = {}};
  for (int i = 0; i < rows; ++i) {
    samples.rows.push_back(static_cast<float>(i));
    samples.targets.push_back(i);
    samples.weights.push_back(1.0);
  }
  return samples;
}

}  // namespace

TEST_CASE("boosted trees learn where a function of several features steps") {
  const BoostedTrees trees = fit_boosted_trees(grid([](double x, double y) { return (x > 5.0) != (y > 9.0) ? 1.0 : 0.2; }), 60);
  CHECK(expect(trees, 5, 9) == doctest::Approx(0.2).epsilon(0.02));
  CHECK(expect(trees, 6, 9) == doctest::Approx(1.0).epsilon(0.02));
  CHECK(expect(trees, 5, 10) == doctest::Approx(1.0).epsilon(0.02));
  CHECK(expect(trees, 6, 10) == doctest::Approx(0.2).epsilon(0.02));
  CHECK(expect(trees, 5.4F, -100) == doctest::Approx(0.2).epsilon(0.02));  // borders lie between values
  CHECK(expect(trees, 5.6F, 100) == doctest::Approx(0.2).epsilon(0.02));
}

TEST_CASE("several threads find the trees that one finds") {
  TreeSamples samples{.features = 30, .rows = {}, .targets = {}, .weights = {}};
  std::uint32_t random = 1;
  const auto drawn = [&] { return static_cast<float>((random = random * 1664525U + 1013904223U) >> 24U); };
  for (int row = 0; row < 4000; ++row) {
    for (std::size_t feature = 0; feature < samples.features; ++feature) {
      samples.rows.push_back(feature % 3 == 2 ? samples.rows.back() : drawn());  // of two that say the same the first is asked
    }
    const float* const values = &samples.rows[samples.rows.size() - samples.features];
    samples.targets.push_back(values[0] * values[4] / 65536.0 + (values[7] > 100.0F ? 0.5 : 0.0));
    samples.weights.push_back(1.0 + row % 3);
  }
  const BoostedTrees several = fit_boosted_trees(samples, 12);
  BoostedTrees one;
  std::thread([&] {
    run_on({usable_core_numbers().front()});
    one = fit_boosted_trees(samples, 12);
  }).join();
  CHECK(several == one);
  CHECK(several.trees.size() == 12);
}

TEST_CASE("more trees leave less over, and the same samples give the same trees") {
  const TreeSamples samples = grid([](double x, double y) { return std::sin(x / 3.0) * std::cos(y / 4.0); });
  const auto error = [&](std::size_t count) {
    const BoostedTrees trees = fit_boosted_trees(samples, count);
    double sum = 0.0;
    for (std::size_t i = 0; i < samples.targets.size(); ++i) {
      sum += std::abs(trees.expect(std::span(samples.rows).subspan(3 * i, 3)) - samples.targets[i]);
    }
    return sum / static_cast<double>(samples.targets.size());
  };
  CHECK(error(0) > 0.3);
  CHECK(error(10) < error(0) / 3.0);
  CHECK(error(100) < 0.01);
  CHECK(fit_boosted_trees(samples, 20) == fit_boosted_trees(samples, 20));
}

TEST_CASE("what weighs more is met more closely") {
  TreeSamples samples = grid([](double, double y) { return y > 7.0 ? 1.0 : 0.0; });
  for (std::size_t i = 0; i < samples.targets.size(); i += 2) {  // rows with the same features as the next one
    std::copy_n(samples.rows.begin() + static_cast<std::ptrdiff_t>(3 * i), 3,
                samples.rows.begin() + static_cast<std::ptrdiff_t>(3 * i + 3));
    samples.targets[i + 1] = samples.targets[i] + 1.0;
    samples.weights[i + 1] = 99.0;
  }
  const BoostedTrees trees = fit_boosted_trees(samples, 60);
  CHECK(expect(trees, 4, 2) == doctest::Approx(0.99).epsilon(0.02));
  CHECK(expect(trees, 4, 12) == doctest::Approx(1.99).epsilon(0.02));
}

TEST_CASE("features of many values have a few borders, at even shares of the rows") {
  const BoostedTrees trees = fit_boosted_trees(counted(1000), 100);
  CHECK(trees.borders.front().size() == 31);
  CHECK(trees.borders.front().front() == doctest::Approx(31.5).epsilon(0.05));
  for (const float at : {0.0F, 500.0F, 999.0F}) {
    CHECK(trees.expect(std::span(&at, 1)) == doctest::Approx(at).epsilon(0.05).scale(1000.0));
  }
}

TEST_CASE("trees of many rows have more borders and one question more, those of few ask their last one twice") {
  const BoostedTrees few = fit_boosted_trees(counted(1000), 10), many = fit_boosted_trees(counted(50000), 10);
  CHECK(many.borders.front().size() == BoostedTrees::kMostBorders);
  const auto asks_twice = [](const BoostedTrees::Tree& tree) { return tree.questions[4] == tree.questions[5]; };
  CHECK(std::ranges::all_of(few.trees, asks_twice));
  CHECK(std::ranges::none_of(many.trees, asks_twice));
  CHECK_FALSE(few.are_deep());
  CHECK(many.are_deep());
}

TEST_CASE("without rows, or where all are alike, there is nothing to ask") {
  CHECK(fit_boosted_trees({.features = 2, .rows = {}, .targets = {}, .weights = {}}, 10).trees.empty());
  const BoostedTrees trees = fit_boosted_trees({.features = 1, .rows = {3.0F, 3.0F}, .targets = {1.0, 2.0}, .weights = {1.0, 3.0}}, 10);
  CHECK(trees.trees.empty());
  const float at = 5.0F;
  CHECK(trees.expect(std::span(&at, 1)) == doctest::Approx(1.75));
}

}  // namespace hone
