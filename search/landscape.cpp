#include "search/landscape.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace hone::search {
namespace {

// Chosen on recorded spaces of eleven kernel and GPU pairs; results change little within half and double of each.
constexpr float kSquaredWeightOfDiffering = 0.35F * 0.35F;
constexpr double kFailureBetweenMedianAndWorst = 0.3;
constexpr int kBackfittingRounds = 3;  // each fit goes on from the last
constexpr float kSamePoint = 1e-6F;

/// Sums and maxima in lanes: the compiler may not reorder them.
struct Lanes {
  static constexpr std::size_t kCount = 8;
  float total[kCount] = {}, missed[kCount] = {}, largest[kCount] = {};

  void add(const float* weights, const float* misses, std::size_t lanes) {
    for (std::size_t j = 0; j < lanes; ++j) {
      total[j] += weights[j];
      missed[j] += weights[j] * misses[j];
      largest[j] = largest[j] < weights[j] ? weights[j] : largest[j];
    }
  }
};

struct Weighed {
  float mean = 0.0F, largest = 0.0F;
};

Weighed weighed(const std::vector<float>& weights, const std::vector<float>& misses) {
  Lanes lanes;
  std::size_t i = 0;
  for (; i + Lanes::kCount <= weights.size(); i += Lanes::kCount) {
    lanes.add(&weights[i], &misses[i], Lanes::kCount);
  }
  lanes.add(weights.data() + i, misses.data() + i, weights.size() - i);
  const float total = std::accumulate(lanes.total, lanes.total + Lanes::kCount, 0.0F);
  const float missed = std::accumulate(lanes.missed, lanes.missed + Lanes::kCount, 0.0F);
  return {total > 0.0F ? missed / total : 0.0F, *std::ranges::max_element(lanes.largest)};
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
      to_known_[offsets_[p] + digit].push_back(steps_[mine][digit]);
    }
    for (std::size_t q = 0; q < digits.size(); ++q) {
      together_[mine][value(q, digits[q])] += 1.0;
    }
    (ok ? time_sums_ : failures_)[mine] += ok ? log_time : 1.0;
    values_.push_back(static_cast<std::uint32_t>(mine));
  }
  if (ok) {
    best_ = times_.empty() || log_time < times_.front() ? observation.at() : best_;
    times_.insert(std::ranges::upper_bound(times_, log_time), log_time);
  }
  ok_.push_back(ok ? 1 : 0);
  log_times_.push_back(log_time);
  fitted_ = false;
}

/// Gives each value of a parameter the mean of what the others leave unexplained, drawn towards 0 where it was seen rarely.
void Landscape::fit_effects() {
  for (int round = 0; round < kBackfittingRounds; ++round) {
    for (std::size_t p = 0; p < offsets_.size(); ++p) {
      const std::size_t first = offsets_[p], count = steps_[first].size(), end = first + count;
      for (std::size_t v = first; v < end && count > 1; ++v) {
        const std::vector<double>& with = together_[v];
        const double seen = with[v], weight = seen + ridge_;
        double left = time_sums_[v] + failures_[v] * failed_ - seen * mean_ + seen * effects_[v];
        for (std::size_t u = 0; u < effects_.size(); ++u) {
          left -= with[u] * effects_[u];
        }
        effects_[v] = weight > 0.0 ? left / weight : 0.0;
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
  if (has_best()) {
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

/// Interpolation weights: the fourth power of the inverse distance.
void Landscape::weigh(Point& point) const {
  const std::size_t begin = point.weights.size(), end = ok_.size();
  point.weights.resize(end, kSamePoint);
  float* const weights = point.weights.data();
  for (std::size_t p = 0; p < point.digits.size(); ++p) {
    const float* const squared = to_known_[value(p, point.digits[p])].data();
    for (std::size_t i = begin; i < end; ++i) {
      weights[i] += squared[i];
    }
  }
  for (std::size_t i = begin; i < end; ++i) {
    weights[i] = 1.0F / (weights[i] * weights[i]);
  }
}

double Landscape::distance_within(const Point& point, float largest_weight) const {
  float nearest = largest_weight > 0.0F ? 1.0F / std::sqrt(largest_weight) : std::numeric_limits<float>::max();
  for (const Point& awaited : awaited_) {
    float squared = 0.0F;
    for (std::size_t p = 0; p < point.digits.size(); ++p) {
      squared += steps_[value(p, point.digits[p])][awaited.digits[p]];
    }
    nearest = std::min(nearest, squared);
  }
  return std::sqrt(static_cast<double>(nearest));
}

Estimate Landscape::estimate(Point& point) const {
  weigh(point);
  const Weighed near = weighed(point.weights, missed_);
  double log_time = mean_ + static_cast<double>(near.mean);
  for (std::size_t p = 0; p < point.digits.size(); ++p) {
    log_time += effects_[value(p, point.digits[p])];
  }
  return {log_time, distance_within(point, near.largest)};
}

double Landscape::distance(Point& point) const {
  weigh(point);
  return distance_within(point, point.weights.empty() ? 0.0F : *std::ranges::max_element(point.weights));
}

}  // namespace hone::search
