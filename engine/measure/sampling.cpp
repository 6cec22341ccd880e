#include "engine/measure/sampling.hpp"

#include <algorithm>
#include <numeric>

namespace hone {
namespace {

double total(const std::vector<double>& samples) { return std::accumulate(samples.begin(), samples.end(), 0.0); }

bool has_converged(const std::vector<double>& samples, const MeasureSettings& settings) {
  if (static_cast<int>(samples.size()) < settings.minimum_samples) {
    return false;
  }
  const Measurement so_far = summarize(samples);
  const std::optional<Figure> percentile =
      settings.objective.kind == Objective::Kind::kPercentile ? settings.objective.of(so_far) : std::nullopt;
  const Figure seen = percentile.value_or(Figure{so_far.median_us, so_far.ci95_low_us, so_far.ci95_high_us});
  return (seen.high - seen.low) / 2.0 <= settings.target_relative_ci * seen.value;
}

}  // namespace

int next_batch(const Samples& samples, const MeasureSettings& settings, double elapsed_us) {
  const int taken = static_cast<int>(samples.front().size());
  const int first = std::max(1, settings.race_samples);
  if (taken == 0) {
    return first;
  }
  double sampled_us = 0.0;
  for (const std::vector<double>& of_one : samples) {
    sampled_us += total(of_one);
  }
  const double spent_us = std::max(sampled_us, elapsed_us);
  const double left_us = settings.maximum_seconds * 1e6 * static_cast<double>(samples.size()) - spent_us;
  // A percentile without an interval is worth nothing: its samples are taken however long they take.
  const int least = std::max(settings.race_samples, settings.objective.least_samples());
  const bool converged = std::ranges::all_of(samples, [&](const std::vector<double>& of_one) { return has_converged(of_one, settings); });
  if (converged || (left_us <= 0.0 && taken >= least)) {
    return 0;
  }
  const double round_us = std::max(spent_us / taken, 1e-3);
  const double affordable = std::max({1.0, left_us / round_us, static_cast<double>(least - taken)});
  const int wanted = std::max(0, std::min(taken, settings.maximum_samples - taken));
  return static_cast<int>(std::min(static_cast<double>(wanted), affordable));
}

void append(Samples& samples, const Samples& batch) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].insert(samples[i].end(), batch[i].begin(), batch[i].end());
  }
}

}  // namespace hone
