#include "search/landscape.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "search/wide.hpp"

namespace hone::search {
namespace {

// Chosen on recorded spaces of eleven kernel and GPU pairs; results change little within half and double of each.
constexpr float kSquaredWeightOfDiffering = 0.35F * 0.35F;
constexpr double kFailureBetweenMedianAndWorst = 0.3;
constexpr int kBackfittingRounds = 3;  // each fit goes on from the last
constexpr float kSamePoint = 1e-6F;

constexpr std::size_t kLanes = 32;  // sums at a time, since the compiler may not reorder one; a loop of 16 it would unroll, not vectorise

/// Interpolation weights of the known configurations from `begin` to `end`: the fourth power of the inverse distance. `values`: of the
/// point, one of each parameter.
HONE_WIDE void weigh_known(const std::vector<std::vector<float>>& to_known, const std::vector<std::uint32_t>& values, std::size_t begin,
                           std::size_t end, float* weights) {
  for (std::size_t first = begin / kLanes * kLanes; first < end; first += kLanes) {
    float sum[kLanes];
    std::fill_n(sum, kLanes, kSamePoint);
    for (const std::uint32_t value : values) {
      const float* const squared = to_known[value].data() + first;
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        sum[lane] += squared[lane];
      }
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sum[lane] = 1.0F / (sum[lane] * sum[lane]);
    }
    const std::size_t from = std::max(begin, first), to = std::min(end, first + kLanes);
    std::copy(sum + (from - first), sum + (to - first), weights + from);
  }
}

struct Weighed {
  float mean = 0.0F, largest = 0.0F;
};

HONE_WIDE Weighed weighed(const float* weights, const float* misses, std::size_t count) {
  float total[kLanes] = {}, missed[kLanes] = {}, largest[kLanes] = {};
  for (; count >= kLanes; count -= kLanes, weights += kLanes, misses += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      total[lane] += weights[lane];
      missed[lane] += weights[lane] * misses[lane];
      largest[lane] = largest[lane] < weights[lane] ? weights[lane] : largest[lane];
    }
  }
  for (std::size_t lane = 0; lane < count; ++lane) {
    total[lane] += weights[lane];
    missed[lane] += weights[lane] * misses[lane];
    largest[lane] = std::max(largest[lane], weights[lane]);
  }
  const float all = std::accumulate(total, total + kLanes, 0.0F);
  const float all_missed = std::accumulate(missed, missed + kLanes, 0.0F);
  return {all > 0.0F ? all_missed / all : 0.0F, *std::max_element(largest, largest + kLanes)};
}

HONE_WIDE void add_scaled(const double* values, double scale, std::size_t count, double* sums) {
  for (std::size_t i = 0; i < count; ++i) {
    sums[i] += scale * values[i];
  }
}

}  // namespace

Landscape::Landscape(plugin::Space space, double ridge) : space_(space), ridge_(ridge) {
  for (std::size_t p = 0; p < space.dimensions(); ++p) {
    const std::size_t count = space.dimension(p).count;
    const bool ordered = space.dimension(p).kind != HONE_CATEGORICAL;  // labels differ or do not
    offsets_.push_back(steps_.size());
    for (std::size_t a = 0; a < count; ++a) {
      auto& steps = steps_.emplace_back();
      for (std::size_t b = 0; b < count; ++b) {
        const float step = a == b || !ordered ? 0.0F : (static_cast<float>(a) - static_cast<float>(b)) / static_cast<float>(count - 1);
        steps.push_back(step * step + (a == b ? 0.0F : kSquaredWeightOfDiffering));
      }
    }
  }
  const std::size_t values = steps_.size();
  to_known_.resize(values);
  together_.assign(values, std::vector<double>(values, 0.0));
  time_sums_.assign(values, 0.0);
  failures_.assign(values, 0.0);
  effects_.assign(values, 0.0);
}

void Landscape::locate(plugin::Position position, Point& point) const {
  point.position = position;
  point.digits.resize(space_.dimensions());
  space_.at(position, point.digits.data());
  point.values.resize(point.digits.size());
  for (std::size_t p = 0; p < point.digits.size(); ++p) {
    point.values[p] = static_cast<std::uint32_t>(value(p, point.digits[p]));
  }
  point.weights.clear();
}

void Landscape::await(plugin::Position position) { locate(position, awaited_.emplace_back()); }

void Landscape::learn(const plugin::Observation& observation) {
  std::erase_if(awaited_, [&](const Point& awaited) { return awaited.position == observation.at(); });
  const plugin::Digits digits = space_.at(observation.at());
  const bool ok = observation.timed();
  const double log_time = ok ? std::log(observation.time_us) : 0.0;
  for (std::size_t p = 0; p < digits.size(); ++p) {
    const std::size_t mine = value(p, digits[p]);
    for (std::size_t digit = 0; digit < steps_[mine].size(); ++digit) {
      std::vector<float>& known = to_known_[offsets_[p] + digit];
      known.resize((ok_.size() / kLanes + 1) * kLanes);  // whole lanes
      known[ok_.size()] = steps_[mine][digit];
    }
    for (std::size_t q = 0; q < digits.size(); ++q) {
      together_[mine][value(q, digits[q])] += 1.0;
    }
    (ok ? time_sums_ : failures_)[mine] += ok ? log_time : 1.0;
    values_.push_back(static_cast<std::uint32_t>(mine));
  }
  if (ok) {
    if (observation.eligible() && log_time < best_time_) {
      best_ = observation.at();
      best_time_ = log_time;
    }
    times_.insert(std::ranges::upper_bound(times_, log_time), log_time);
  }
  ok_.push_back(ok ? 1 : 0);
  log_times_.push_back(log_time);
  fitted_ = false;
}

/// Gives each value of a parameter the mean of what the others leave unexplained, drawn towards 0 where it was seen rarely.
void Landscape::fit_effects() {
  const std::size_t values = effects_.size();
  std::vector<double> explained(values, 0.0);  // by all effects, summed over the known configurations with a value
  for (std::size_t v = 0; v < values; ++v) {
    add_scaled(together_[v].data(), effects_[v], values, explained.data());
  }
  for (int round = 0; round < kBackfittingRounds; ++round) {
    for (std::size_t v = 0; v < values; ++v) {
      const double seen = together_[v][v], weight = seen + ridge_;
      const double left = time_sums_[v] + failures_[v] * failed_ - seen * mean_ - explained[v] + seen * effects_[v];
      const double effect = weight > 0.0 && steps_[v].size() > 1 ? left / weight : 0.0;
      if (effect != effects_[v]) {
        add_scaled(together_[v].data(), effect - effects_[v], values, explained.data());
        effects_[v] = effect;
      }
    }
  }
}

void Landscape::fit_missed() {
  const std::size_t parameters = offsets_.size();
  missed_.resize(ok_.size());
  for (std::size_t i = 0; i < ok_.size(); ++i) {
    double expected = mean_;
    for (std::size_t p = 0; p < parameters; ++p) {
      expected += effects_[values_[i * parameters + p]];
    }
    missed_[i] = static_cast<float>((ok_[i] != 0 ? log_times_[i] : failed_) - expected);
  }
}

void Landscape::fit() {
  if (fitted_) {
    return;
  }
  fitted_ = true;
  if (!times_.empty()) {
    const double median = times_[times_.size() / 2];
    failed_ = median + kFailureBetweenMedianAndWorst * (times_.back() - median);
  }
  const auto count = static_cast<double>(ok_.size()), failures = count - static_cast<double>(times_.size());
  mean_ = (std::accumulate(times_.begin(), times_.end(), 0.0) + failures * failed_) / count;
  double squares = failures * (failed_ - mean_) * (failed_ - mean_);
  for (const double time : times_) {
    squares += (time - mean_) * (time - mean_);
  }
  spread_ = std::sqrt(squares / count);
  fit_effects();
  fit_missed();
}

void Landscape::weigh(Point& point) const {
  const std::size_t begin = point.weights.size();
  point.weights.resize(ok_.size());
  weigh_known(to_known_, point.values, begin, ok_.size(), point.weights.data());
}

double Landscape::distance_within(const Point& point, float largest_weight) const {
  float nearest = largest_weight > 0.0F ? 1.0F / std::sqrt(largest_weight) : std::numeric_limits<float>::max();
  for (const Point& awaited : awaited_) {
    float squared = 0.0F;
    for (std::size_t p = 0; p < point.digits.size(); ++p) {
      squared += steps_[point.values[p]][awaited.digits[p]];
    }
    nearest = std::min(nearest, squared);
  }
  return std::sqrt(static_cast<double>(nearest));
}

Estimate Landscape::estimate(Point& point) const {
  weigh(point);
  const Weighed near = weighed(point.weights.data(), missed_.data(), missed_.size());
  double log_time = mean_ + static_cast<double>(near.mean);
  for (const std::uint32_t value : point.values) {
    log_time += effects_[value];
  }
  return {log_time, distance_within(point, near.largest)};
}

double Landscape::distance(Point& point) const {
  weigh(point);
  return distance_within(point, point.weights.empty() ? 0.0F : *std::ranges::max_element(point.weights));
}

}  // namespace hone::search
