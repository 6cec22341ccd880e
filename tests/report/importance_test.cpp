// Importance on spaces whose answer is known.
#include "engine/report/importance.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

namespace hone::report {
namespace {

/// All combinations of parameters with these numbers of values, numbered 0, 1, 2, ... where ordered.
Observations all_of(std::vector<std::uint16_t> sizes, bool ordered = true) {
  Observations all;
  all.sizes = sizes;
  for (const std::uint16_t size : sizes) {
    auto& positions = all.positions.emplace_back();
    for (std::uint16_t v = 0; ordered && v < size; ++v) {
      positions.push_back(v);
    }
  }
  std::vector<std::uint16_t> digits(sizes.size(), 0);
  for (;;) {
    all.digits.insert(all.digits.end(), digits.begin(), digits.end());
    all.figures.push_back(0.0);
    std::size_t p = 0;
    while (p < sizes.size() && ++digits[p] == sizes[p]) {
      digits[p++] = 0;
    }
    if (p == sizes.size()) {
      return all;
    }
  }
}

/// 2 a + b + 1.5 c d + 0 e + 0 f, each around 0: variances 5, 1.25 and 2.25, of which c and d have none alone.
constexpr double kVarianceA = 5.0, kVarianceB = 1.25, kVarianceCD = 2.25, kVariance = kVarianceA + kVarianceB + kVarianceCD;

double figure(std::span<const std::uint16_t> digits) {
  const auto sign = [](std::uint16_t digit) { return digit == 0 ? -1.0 : 1.0; };
  return 2.0 * (digits[0] - 1.5) + (digits[1] - 1.5) + 1.5 * sign(digits[2]) * sign(digits[3]);
}

Observations known(bool ordered = true) {
  Observations all = all_of({4, 4, 2, 2, 3, 4}, ordered);
  for (std::size_t i = 0; i < all.count(); ++i) {
    all.figures[i] = figure(all.of(i));
  }
  return all;
}

double share_of(const Importance& importance, std::size_t first, std::size_t second) {
  for (const PairShare& pair : importance.pairs) {
    if (pair.first == first && pair.second == second) {
      return pair.share;
    }
  }
  return -1.0;
}

void check_known(const Importance& found, double within) {
  CHECK(std::abs(found.parameters[0] - kVarianceA / kVariance) < within);
  CHECK(std::abs(found.parameters[1] - kVarianceB / kVariance) < within);
  CHECK(std::abs(share_of(found, 2, 3) - kVarianceCD / kVariance) < within);
  CHECK(found.parameters[2] < within);
  CHECK(found.parameters[3] < within);
  CHECK(found.parameters[4] < within);
  CHECK(found.pairs.front().first == 2);
  CHECK(found.pairs.front().second == 3);
}

}  // namespace

TEST_CASE("shares of the variance are those of a function whose decomposition is known") {
  const Importance found = importance(known());
  check_known(found, 0.05);
  CHECK(found.explained > 0.95);
  double sum = found.rest;
  for (const double share : found.parameters) {
    sum += share;
  }
  for (const PairShare& pair : found.pairs) {
    sum += pair.share;
  }
  CHECK(sum == doctest::Approx(1.0).epsilon(0.02));
}

TEST_CASE("shares do not depend on an order of values that says nothing") { check_known(importance(known(false)), 0.05); }

TEST_CASE("shares of a noisy half of the space are about the same") {
  const Observations all = known();
  Observations some{.sizes = all.sizes, .positions = all.positions, .digits = {}, .figures = {}};
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(0.0, 0.1);
  for (std::size_t i = 0; i < all.count(); ++i) {
    if (random() % 2 == 0) {
      some.digits.insert(some.digits.end(), all.of(i).begin(), all.of(i).end());
      some.figures.push_back(all.figures[i] + noise(random));
    }
  }
  const Importance found = importance(some);
  check_known(found, 0.15);
  CHECK(found.explained > 0.7);
}

TEST_CASE("effects are the mean figures with a value, around the mean of all") {
  const Importance found = importance(known());
  for (std::size_t v = 0; v < 4; ++v) {
    CHECK(found.effects[0][v] == doctest::Approx(2.0 * (static_cast<double>(v) - 1.5)).epsilon(0.1));
  }
  CHECK(std::abs(found.effects[4][0]) < 0.2);
}

TEST_CASE("figures that have nothing to do with the parameters are explained by none of them") {
  Observations all = all_of({4, 4, 4, 4});
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(100.0, 1.0);
  for (double& one : all.figures) {
    one = noise(random);
  }
  CHECK(importance(all).explained < 0.1);
}

TEST_CASE("equal figures, and none at all, give no shares") {
  for (Observations all : {all_of({3, 3}), Observations{.sizes = {3, 3}, .positions = {{}, {}}, .digits = {}, .figures = {}}}) {
    const Importance found = importance(all);
    CHECK(found.parameters == std::vector<double>{0.0, 0.0});
    CHECK(found.pairs.size() == 1);
    CHECK(found.pairs.front().share == 0.0);
    CHECK(found.explained == 0.0);
  }
}

TEST_CASE("the same observations give the same shares") { CHECK(importance(known()).parameters == importance(known()).parameters); }

}  // namespace hone::report
