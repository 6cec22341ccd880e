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

Scale::Scale(std::span<const double> times_us, const ScaleSettings& settings) {
  std::vector<double> good;
  for (const double time : times_us) {
    if (std::isfinite(time)) {
      good.push_back(std::log(time));
    }
  }
  std::ranges::sort(good);
  best_ = good.front();
  failed_ = quantile(good, settings.failure_quantile);
  knee_ = settings.compression * std::max(quantile(good, 0.5) - best_, kLeastSpread);
}

double Scale::above_best(double time_us) const {
  const double over = (std::isfinite(time_us) ? std::log(time_us) : failed_) - best_;
  return knee_ > 0.0 && over > knee_ ? knee_ * (1.0 + std::log(over / knee_)) : over;
}

std::vector<double> above_best(std::span<const double> times_us, const ScaleSettings& settings) {
  const Scale scale(times_us, settings);
  std::vector<double> above;
  for (const double time : times_us) {
    above.push_back(scale.above_best(time));
  }
  return above;
}

}  // namespace hone::search
