#include "engine/tune/turns.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hone {
namespace {

constexpr double kUntimed = std::numeric_limits<double>::infinity();
// Of log time: what the doubling that ends at n trials gains in an ordinary search, n^-0.75; and of it what the next one does.
constexpr double kDecay = 0.75, kNextGain = 0.6;
constexpr double kLeastShare = 2.0, kMostShare = 8.0;  // trials
constexpr double kShares = 3.0;                        // of the budget, one is for the first trials of all

double best_of(std::span<const double> times) { return times.empty() ? kUntimed : *std::ranges::min_element(times); }

double fastest(std::span<const Runner> runners) {
  double best = kUntimed;
  for (const Runner& runner : runners) {
    best = std::min(best, best_of(runner.times_us));
  }
  return best;
}

double more_trials(const Runner& runner, const Remaining& remaining) {
  return std::min(remaining.trials, remaining.seconds / std::max(runner.seconds, 1e-6));
}

}  // namespace

double hopeful_us(const Runner& runner, double more) {
  const double best = best_of(runner.times_us);
  const auto n = static_cast<double>(runner.times_us.size());
  if (std::isinf(best) || n == 0.0 || more <= 0.0) {
    return best;
  }
  const double before = best_of(std::span(runner.times_us).first((runner.times_us.size() + 1) / 2));
  const double gained = std::isinf(before) ? 0.0 : std::log(before / best);
  const double gain = std::max(gained, std::pow(n, -kDecay));
  const double doublings = std::log2(1.0 + more / n);
  return best * std::exp(-gain * (1.0 - std::pow(kNextGain, doublings)) / (1.0 - kNextGain));
}

std::size_t Turns::first_share(std::size_t runners, const Remaining& remaining, double seconds_each) {
  const double trials = std::min(remaining.trials, remaining.seconds / std::max(seconds_each, 1e-6));
  const double share = trials / (kShares * static_cast<double>(std::max<std::size_t>(1, runners)));
  return static_cast<std::size_t>(std::clamp(share, kLeastShare, kMostShare));
}

std::optional<std::size_t> Turns::next(std::span<const Runner> runners, const Remaining& remaining) {
  std::optional<std::size_t> chosen;
  double best = kUntimed;
  for (std::size_t i = 0; i < runners.size(); ++i) {
    if (!runners[i].can_go_on) {
      continue;
    }
    const double hope = hopeful_us(runners[i], more_trials(runners[i], remaining));
    if (!chosen || hope < best) {
      chosen = i;
      best = hope;
    }
  }
  return chosen;
}

bool Turns::is_far_behind(std::size_t runner, std::span<const Runner> runners, const Remaining& remaining) {
  const double best = fastest(runners);
  const bool in_reach = best_of(runners[runner].times_us) <= kFinalMargin * best;  // a final round may still change the order
  return !in_reach && hopeful_us(runners[runner], more_trials(runners[runner], remaining)) > best;
}

}  // namespace hone
