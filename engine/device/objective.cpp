#include "engine/device/objective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

namespace hone {
namespace {

constexpr double kTail = 0.025;  // on either side of a 95 % interval
constexpr double kLeastPercentile = 50.1, kMostPercentile = 99.9;
constexpr double kMicro = 1e6;

/// So much more power one busy kernel may draw on a device than another: data centre GPUs lie between 200 and 700 W.
constexpr double kPowerSpread = 3.0;
constexpr std::size_t kEnoughPowers = 8;
constexpr double kLeastPower = 0.8;  // of the least power that was seen: nobody is expected to draw less

/// The smallest k with P(Binomial(n, p) <= k) >= tail: how many samples lie below the quantile at least, but for that chance.
std::size_t binomial_quantile(std::size_t n, double p, double tail) {
  const double size = static_cast<double>(n), log_odds = std::log(p) - std::log1p(-p);
  double log_term = size * std::log1p(-p), sum = std::exp(log_term);
  std::size_t k = 0;
  while (sum < tail && k < n) {
    log_term += std::log(size - static_cast<double>(k)) - std::log(static_cast<double>(k + 1)) + log_odds;
    sum += std::exp(log_term);
    ++k;
  }
  return k;
}

}  // namespace

std::optional<Figure> percentile_of(std::span<const double> samples, double percentile) {
  const double p = percentile / 100.0;
  const std::size_t n = samples.size();
  if (n == 0) {
    return std::nullopt;
  }
  // The quantile lies below the (k + 1)-th smallest sample unless more than k of n samples lie below it.
  const std::size_t high = binomial_quantile(n, p, 1.0 - kTail), low = binomial_quantile(n, p, kTail);
  if (high >= n || low == 0) {
    return std::nullopt;
  }
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  const auto at = static_cast<std::size_t>(std::ceil(p * static_cast<double>(n))) - 1;
  return Figure{sorted[at], sorted[low - 1], sorted[high]};
}

std::optional<Figure> Objective::of(const Measurement& measurement) const {
  if (measurement.samples_us.empty() && measurement.median_us <= 0.0) {
    return std::nullopt;
  }
  const Figure time{measurement.median_us, measurement.ci95_low_us, measurement.ci95_high_us};
  if (kind == Kind::kTime) {
    return time;
  }
  if (kind == Kind::kPercentile) {
    return percentile_of(measurement.samples_us, percentile);
  }
  if (!measurement.energy_j) {
    return std::nullopt;
  }
  const Figure energy{kMicro * measurement.energy_j->value, kMicro * measurement.energy_j->low, kMicro * measurement.energy_j->high};
  // Both ends at once are less likely than either: the product's interval is wider than 95 %.
  return kind == Kind::kEnergy ? energy : Figure{energy.value * time.value, energy.low * time.low, energy.high * time.high};
}

int Objective::least_samples() const {
  return kind != Kind::kPercentile ? 1 : static_cast<int>(std::ceil(std::log(kTail) / std::log(percentile / 100.0)));
}

double Objective::time_allowance(const Powers& seen) const {
  if (!needs_energy()) {
    return 1.0;
  }
  const double spread = seen.count < kEnoughPowers ? kPowerSpread : std::clamp(seen.best / (kLeastPower * seen.least), 1.0, kPowerSpread);
  return kind == Kind::kEdp ? std::sqrt(spread) : spread;
}

std::string name(const Objective& objective) {
  switch (objective.kind) {
    case Objective::Kind::kTime:
      return "time";
    case Objective::Kind::kPercentile:
      return fmt::format("p{:g}", objective.percentile);
    case Objective::Kind::kEnergy:
      return "energy";
    case Objective::Kind::kEdp:
      return "edp";
  }
  return "";
}

std::string described(const Objective& objective) {
  switch (objective.kind) {
    case Objective::Kind::kTime:
      return "time";
    case Objective::Kind::kPercentile:
      return fmt::format("{:g}th percentile of time", objective.percentile);
    case Objective::Kind::kEnergy:
      return "energy of a run";
    case Objective::Kind::kEdp:
      return "energy-delay product";
  }
  return "";
}

Result<Objective> parse_objective(std::string_view text) {
  for (const Objective::Kind kind : {Objective::Kind::kTime, Objective::Kind::kEnergy, Objective::Kind::kEdp}) {
    if (text == name(Objective{kind})) {
      return Objective{kind};
    }
  }
  double number = 0.0;
  if (text.starts_with('p')) {
    const auto [end, failed] = std::from_chars(text.data() + 1, text.data() + text.size(), number, std::chars_format::fixed);
    if (failed == std::errc() && end == text.data() + text.size() && number >= kLeastPercentile && number <= kMostPercentile) {
      return Objective{Objective::Kind::kPercentile, number};
    }
  }
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("'{}' is no objective: there are time, energy, edp (energy times time) and percentiles of time, p{:g} to p{:g} "
                           "(p99, say; the median is time)",
                           text, kLeastPercentile, kMostPercentile)};
}

std::string objective_text(const Objective& objective, double value) {
  const auto scaled = [](double number, std::string_view unit) {
    constexpr std::string_view kPrefixes[] = {"u", "m", ""};
    std::size_t prefix = 0;
    for (; number >= 1e3 && prefix + 1 < std::size(kPrefixes); number /= 1e3) {
      ++prefix;
    }
    return fmt::format("{:.4g} {}{}", number, kPrefixes[prefix], unit);
  };
  switch (objective.kind) {
    case Objective::Kind::kEnergy:
      return scaled(value, "J");
    case Objective::Kind::kEdp:
      return scaled(value / kMicro, "J s");
    default:
      return scaled(value, "s");
  }
}

}  // namespace hone
