#include "engine/gate/allowance.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace hone::gate {
namespace {

// Of fifty runs of a suite of a dozen cases, one in sixteen has a false alarm at this rate, before slow cases are measured again.
constexpr double kFalseAlarm = 1e-4;
constexpr double kAssumedDeviation = 0.01, kAssumedFreedom = 4.0;
constexpr double kMostBorrowed =
    10.0;  // degrees of freedom: cases do differ, a kernel of microseconds varies more than one of milliseconds

double mean_logarithm(std::span<const Level> runs) {
  double sum = 0.0;
  for (const Level& run : runs) {
    sum += std::log(run.relative);
  }
  return sum / static_cast<double>(runs.size());
}

/// Of a chi-squared variable / its degrees of freedom (Wilson and Hilferty).
double median_of_variance(double freedom) { return std::pow(1.0 - 2.0 / (9.0 * freedom), 3.0); }

}  // namespace

Spread spread_of(std::span<const Level> runs) {
  if (runs.size() < 2) {
    return {};
  }
  const double mean = mean_logarithm(runs), freedom = static_cast<double>(runs.size() - 1);
  double squares = 0.0;
  for (const Level& run : runs) {
    squares += std::pow(std::log(run.relative) - mean, 2.0);
  }
  return {std::sqrt(squares / freedom), freedom};
}

Spread typical_spread(std::span<const Spread> cases) {
  std::vector<double> variances;
  double freedom = 0.0;
  for (const Spread& one : cases) {
    if (one.freedom > 0.0) {
      variances.push_back(one.deviation * one.deviation / median_of_variance(one.freedom));
      freedom += one.freedom;
    }
  }
  // The median: one case that varies widely is no reason to let the others become slower.
  double variance = 0.0;
  if (!variances.empty()) {
    std::ranges::sort(variances);
    const std::size_t half = variances.size() / 2;
    variance = variances.size() % 2 == 1 ? variances[half] : (variances[half - 1] + variances[half]) / 2.0;
  }
  const double total = kAssumedFreedom + freedom;
  return {std::sqrt((kAssumedFreedom * kAssumedDeviation * kAssumedDeviation + freedom * variance) / total), total};
}

Allowance allowance(std::span<const Level> runs, const Spread& typical, double least) {
  const Spread own = spread_of(runs);
  const double borrowed = std::min(typical.freedom, kMostBorrowed), freedom = borrowed + own.freedom;
  const double variance = (borrowed * typical.deviation * typical.deviation + own.freedom * own.deviation * own.deviation) / freedom;
  const double quantile = boost::math::quantile(boost::math::complement(boost::math::students_t(freedom), kFalseAlarm));
  const double above = quantile * std::sqrt(variance * (1.0 + 1.0 / static_cast<double>(runs.size())));
  return {std::exp(mean_logarithm(runs)), std::max(least, std::expm1(above))};
}

}  // namespace hone::gate
