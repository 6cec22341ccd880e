#include "search/evidence.hpp"

#include <cmath>

#include "tests/search/grid.hpp"

namespace {

using namespace hone;
using namespace hone::search;
using test::counting;
using test::Grid;

struct Sampled {
  std::vector<plugin::Digits> digits;
  Targets targets;
};

/// Every third configuration; times depend on the first parameter.
Sampled sampled(const Grid& grid, bool trend) {
  Sampled sampled;
  for (plugin::Position position = 0; position < grid.space().size(); position += 3) {
    sampled.digits.push_back(grid.space().at(position));
  }
  sampled.targets.trends.resize(trend ? 1 : 0);
  for (const plugin::Digits& digits : sampled.digits) {
    const double x = digits[0];
    sampled.targets.points.push_back(digits.data());
    sampled.targets.y.push_back(std::sin(x) + 0.01 * std::cos(7.0 * digits[1]));
    for (auto& values : sampled.targets.trends) {
      values.push_back(0.3 * x);
    }
  }
  return sampled;
}

}  // namespace

TEST_CASE("The gradient of the evidence is what finite differences say") {
  const Grid grid({counting(7), counting(6)});
  const Metric metric(grid.space(), false);
  for (const bool trend : {false, true}) {
    const Sampled data = sampled(grid, trend);
    Evidence evidence(metric, data.targets);
    Hyper at = evidence.centre(), gradient, unused;
    for (std::size_t h = 0; h < at.size(); ++h) {
      at[h] += 0.3 * static_cast<double>(h % 3) - 0.2;
    }
    evidence(at, gradient);
    for (std::size_t h = 0; h < at.size(); ++h) {
      CAPTURE(h);
      constexpr double kStep = 1e-4;
      Hyper above = at, below = at;
      above[h] += kStep;
      below[h] -= kStep;
      const double slope = (evidence(above, unused) - evidence(below, unused)) / (2.0 * kStep);
      CHECK(gradient[h] == doctest::Approx(slope).epsilon(1e-3).scale(0.1));
    }
  }
}

TEST_CASE("The fit is lower than the prior's centre and gives the parameter that matters the larger weight") {
  const Grid grid({counting(7), counting(6)});
  const Metric metric(grid.space(), false);
  const Sampled data = sampled(grid, false);
  Evidence evidence(metric, data.targets);
  const Hyper fitted = maximum_a_posteriori(evidence, evidence.centre(), 25);
  Hyper gradient;
  CHECK(evidence(fitted, gradient) < evidence(evidence.centre(), gradient) - 1.0);
  CHECK(fitted[0] > fitted[1] + 1.0);
}

TEST_CASE("Matern falls from 1 and its slope is its derivative") {
  double slope = 0.0, unused = 0.0;
  CHECK(matern(0.0, slope) == 1.0);
  const double at = matern(0.7, slope);
  CHECK(slope == doctest::Approx((matern(0.7001, unused) - matern(0.6999, unused)) / 2e-4));
  CHECK(matern(1.4, unused) < at);
}

TEST_CASE("dot sums what is left over of four") {
  const double a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 1, 1, 1, 10, 100};
  CHECK(dot(a, b, 6) == 660.0);
  CHECK(dot(a, b, 3) == 6.0);
  CHECK(dot(a, b, 0) == 0.0);
}

TEST_CASE("Noise is explained better by a mean alone, what depends on a parameter is not") {
  const Grid grid({counting(7), counting(6)});
  const Metric metric(grid.space(), false);
  plugin::Random random(3);
  Targets noise, slope;
  std::vector<plugin::Digits> digits;
  for (plugin::Position position = 0; position < grid.space().size(); position += 2) {
    digits.push_back(grid.space().at(position));
  }
  for (const plugin::Digits& at : digits) {
    const double scatter = 2.0 * random.unit() - 1.0;
    noise.points.push_back(at.data());
    noise.y.push_back(scatter);
    slope.points.push_back(at.data());
    slope.y.push_back(0.5 * (at[0] - 3.0) + 0.1 * scatter);
  }
  const auto gain = [&](Targets targets) {
    Evidence evidence(metric, std::move(targets));
    Hyper gradient;
    const double flat = evidence.flat();
    return flat - evidence(maximum_a_posteriori(evidence, evidence.centre(), 25), gradient);
  };
  CHECK(gain(noise) < 0.0);
  CHECK(gain(slope) > 5.0);
}
