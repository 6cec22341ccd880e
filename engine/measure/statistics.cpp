// The median and its confidence interval, without assuming how the samples are distributed.
#include <algorithm>
#include <cmath>

#include "engine/measure/measure.hpp"

namespace hone {
namespace {

constexpr double kTail = 0.025;  // on either side of a 95 % interval

/// The largest k for which P(Binomial(n, 1/2) < k) <= 2.5 %: the interval runs from the k-th smallest to the k-th largest sample.
std::size_t interval_rank(std::size_t n) {
  // Beyond this many samples 2^-n is no double any more, and the normal approximation is exact to a rank.
  constexpr std::size_t kExact = 1000;
  if (n > kExact) {
    const double size = static_cast<double>(n);
    return static_cast<std::size_t>(std::floor(size / 2.0 - 1.959964 * std::sqrt(size) / 2.0));
  }
  double term = std::pow(0.5, static_cast<double>(n));
  double below = term;
  std::size_t k = 0;
  while (below <= kTail) {
    ++k;
    term *= static_cast<double>(n - k + 1) / static_cast<double>(k);
    below += term;
  }
  return k;
}

}  // namespace

Measurement summarize(std::vector<double> samples_us) {
  Measurement measurement;
  measurement.samples_us = std::move(samples_us);
  std::vector<double> sorted = measurement.samples_us;
  if (sorted.empty()) {
    return measurement;
  }
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  measurement.median_us = n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0;
  const std::size_t rank = std::max<std::size_t>(1, interval_rank(n));
  measurement.ci95_low_us = sorted[rank - 1];
  measurement.ci95_high_us = sorted[n - rank];
  return measurement;
}

}  // namespace hone
