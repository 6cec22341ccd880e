#include "search/scale.hpp"

#include <algorithm>
#include <cmath>

namespace hone::search {
namespace {

constexpr double kLeastSpread = 0.05;  // of log times: less than this between best and median is noise

}  // namespace

double quantile(std::span<const double> sorted, double q) {
  return sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(static_cast<double>(sorted.size()) * q))];
}

std::vector<double> above_best(std::span<const double> times_us, const ScaleSettings& settings) {
  std::vector<double> good;
  for (const double time : times_us) {
    if (std::isfinite(time)) {
      good.push_back(std::log(time));
    }
  }
  std::ranges::sort(good);
  const double best = good.front(), failed = quantile(good, settings.failure_quantile);
  const double knee = settings.compression * std::max(quantile(good, 0.5) - best, kLeastSpread);
  std::vector<double> above;
  for (const double time : times_us) {
    const double over = (std::isfinite(time) ? std::log(time) : failed) - best;
    above.push_back(knee > 0.0 && over > knee ? knee * (1.0 + std::log(over / knee)) : over);
  }
  return above;
}

}  // namespace hone::search
