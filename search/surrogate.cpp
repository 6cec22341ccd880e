#include "search/surrogate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace hone::search {
namespace {

constexpr int kIterations = 25;
constexpr float kSmallestVariance = 1e-8F;
constexpr float kNoGain = 1e-12F;
constexpr std::size_t kLeaders = 3;  // whose neighbours are candidates where a space is not listed whole

/// Expected improvement on `target`, in the units of the mean; the normal tail after Abramowitz and Stegun 26.2.17, to 7.5e-8.
void expected_improvement(const std::vector<float>& mean, const std::vector<float>& variance, float target, std::vector<float>& gain) {
  gain.resize(mean.size());
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const float deviation = std::sqrt(std::max(variance[i], kSmallestVariance)), z = (target - mean[i]) / deviation;
    const float density = 0.39894228F * fast_exp(-0.5F * z * z), t = 1.0F / (1.0F + 0.2316419F * std::abs(z));
    const float tail = density * t * (0.31938153F + t * (-0.356563782F + t * (1.781477937F + t * (-1.821255978F + t * 1.330274429F))));
    gain[i] = deviation * std::max(z * (z > 0.0F ? 1.0F - tail : tail) + density, 0.0F);
  }
}

}  // namespace

Surrogate::Surrogate(const plugin::Context& context, const SurrogateSettings& settings)
    : settings_(settings),
      space_(context.space()),
      taken_(context),
      random_(context.seed()),
      metric_(space_, settings.alignment),
      candidates_(space_),
      sources_(sources_of(context, settings.scale, settings.sources)),
      posterior_(metric_) {
  renew_candidates();
}

/// After this every candidate is free unless taken; the posterior has forgotten its observations.
void Surrogate::renew_candidates() {
  std::vector<plugin::Position> wanted;
  for (const Known& known : known_) {
    wanted.push_back(known.position);
  }
  for (const Pending& pending : pending_) {
    wanted.push_back(pending.position);
  }
  candidates_.renew(random_, leaders(kLeaders), std::move(wanted));
  free_.resize(candidates_.size());
  for (std::size_t i = 0; i < free_.size(); ++i) {
    free_[i] = taken_.contains(candidates_.position(i)) ? 0 : 1;
  }
  nearest_.assign(candidates_.size(), std::numeric_limits<float>::max());
  covered_ = 0;
  posterior_.candidates(candidates_.digits());
  above_best_elsewhere_.clear();
  for (const Source& source : sources_) {
    above_best_elsewhere_.push_back(source.above_best(metric_, candidates_));
  }
  renewed_for_best_ = true;
}

std::vector<plugin::Position> Surrogate::leaders(std::size_t most) const {
  std::vector<std::size_t> order(known_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  most = std::min(most, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(most), {}, [&](std::size_t i) { return known_[i].time_us; });
  std::vector<plugin::Position> positions;
  for (std::size_t i = 0; i < most; ++i) {
    positions.push_back(known_[order[i]].position);
  }
  return positions;
}

void Surrogate::tell(std::span<const plugin::Observation> observations) {
  for (const plugin::Observation& observation : observations) {
    const plugin::Position position = observation.at();
    std::erase_if(pending_, [&](const Pending& pending) { return pending.position == position; });
    taken_.claim(position);
    if (const auto candidate = candidates_.find(position)) {
      free_[*candidate] = 0;
    }
    const bool ok = observation.ok() && observation.time_us > 0.0;
    known_.push_back({position, space_.at(position), ok ? observation.time_us : std::numeric_limits<double>::infinity()});
    if (ok && (!has_best() || observation.time_us < known_[best_].time_us)) {
      best_ = known_.size() - 1;
      renewed_for_best_ = candidates_.complete();
    }
  }
  stale_ = true;
}

std::vector<plugin::Position> Surrogate::ask(std::size_t wanted) {
  std::vector<plugin::Position> asked;
  while (asked.size() < wanted && taken_.left() > 0) {
    const plugin::Position position = next();
    taken_.claim(position);
    if (const auto candidate = candidates_.find(position)) {
      free_[*candidate] = 0;
    }
    pending_.push_back({position, space_.at(position)});
    asked.push_back(position);
  }
  return asked;
}

plugin::Position Surrogate::next() {
  if (known_.size() + pending_.size() < settings_.initial || !has_best()) {
    const std::optional<plugin::Position> recalled = best_elsewhere();
    return recalled ? *recalled : farthest();
  }
  return most_promising();
}

/// The next of the sources' best, each source in turn.
std::optional<plugin::Position> Surrogate::best_elsewhere() {
  for (; !sources_.empty() && recalled_ < settings_.initial * sources_.size(); ++recalled_) {
    const std::vector<plugin::Position>& ranking = sources_[recalled_ % sources_.size()].ranking();
    const std::size_t rank = recalled_ / sources_.size();
    if (rank < ranking.size() && !taken_.contains(ranking[rank])) {
      return ranking[rank];
    }
  }
  return std::nullopt;
}

/// Greedy maximin over the candidates; the first one is random.
plugin::Position Surrogate::farthest() {
  const auto cover = [&](const plugin::Digits& digits) {
    for (std::size_t i = 0; i < nearest_.size(); ++i) {
      nearest_[i] = std::min(nearest_[i], metric_.spread(digits.data(), candidates_.digits(i)));
    }
  };
  for (; covered_ < known_.size(); ++covered_) {
    cover(known_[covered_].digits);
  }
  for (const Pending& pending : pending_) {
    cover(pending.digits);
  }
  std::optional<std::size_t> chosen;
  std::size_t ties = 0;
  for (std::size_t i = 0; i < nearest_.size(); ++i) {
    if (free_[i] == 0 || (chosen && nearest_[i] < nearest_[*chosen])) {
      continue;
    }
    ties = chosen && nearest_[i] == nearest_[*chosen] ? ties + 1 : 1;
    chosen = random_.index(ties) == 0 ? i : chosen;
  }
  return chosen ? candidates_.position(*chosen) : taken_.any(random_);
}

/// Targets: log times above the best, compressed, scaled, and less what the sources lead to expect.
void Surrogate::set_targets() {
  std::vector<double> times;
  for (const Known& known : known_) {
    times.push_back(known.time_us);
  }
  y_ = above_best(times, settings_.scale);
  const auto count = static_cast<double>(y_.size());
  const double mean = std::accumulate(y_.begin(), y_.end(), 0.0) / count;
  double squares = 0.0;
  for (const double y : y_) {
    squares += (y - mean) * (y - mean);
  }
  deviation_ = std::sqrt(squares / count) + 1e-3;
  std::vector<double> sorted = y_;
  std::ranges::sort(sorted);
  prior_ = settings_.prior_quantile < 0.0 ? mean : quantile(sorted, settings_.prior_quantile);
  for (double& y : y_) {
    y = (y - prior_) / deviation_;
  }
}

std::vector<double> Surrogate::elsewhere(plugin::Position position) const {
  std::vector<double> values;
  const std::optional<std::size_t> candidate = candidates_.find(position);
  for (const std::vector<float>& above : above_best_elsewhere_) {
    values.push_back(candidate ? scaled(static_cast<double>(above[*candidate])) : 0.0);
  }
  return values;
}

/// Learns the length scales anew, on the best and a random choice of the others where there are too many.
void Surrogate::refit() {
  std::vector<std::size_t> chosen(known_.size());
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  if (chosen.size() > settings_.fitted) {
    std::ranges::stable_sort(chosen, {}, [&](std::size_t i) { return known_[i].time_us; });
    for (std::size_t i = settings_.fitted / 2; i < settings_.fitted; ++i) {
      std::swap(chosen[i], chosen[i + random_.index(chosen.size() - i)]);
    }
    chosen.resize(settings_.fitted);
  }
  Targets targets;
  targets.trends.resize(sources_.size());
  for (const std::size_t i : chosen) {
    targets.points.push_back(known_[i].digits.data());
    const std::vector<double> values = elsewhere(known_[i].position);
    double expected = 0.0;
    for (std::size_t s = 0; s < values.size(); ++s) {
      targets.trends[s].push_back(settings_.trust * values[s]);
      expected += values[s] / static_cast<double>(values.size());
    }
    targets.y.push_back(y_[i] - expected);
  }
  Evidence evidence(metric_, std::move(targets));
  hyper_ = maximum_a_posteriori(evidence, hyper_.empty() ? evidence.centre() : hyper_, kIterations);
  const std::size_t n = known_.size();
  next_fit_ = n < settings_.refit_each_until ? n + settings_.refit_every
                                             : static_cast<std::size_t>(std::ceil(static_cast<double>(n) * settings_.refit_growth));
}

/// The posterior without observations, for the hyperparameters and the scale of now.
void Surrogate::restart() {
  std::vector<std::vector<float>> trends = above_best_elsewhere_;
  for (std::vector<float>& trend : trends) {
    for (float& value : trend) {
      value = static_cast<float>(settings_.trust * scaled(static_cast<double>(value)));
    }
  }
  posterior_.reset(hyper_, std::move(trends));
  right_.assign(candidates_.size(), 1.0F);
  weight_.assign(candidates_.size(), 1.0F);
  weighed_ = 0;
}

/// Means at the candidates: what the sources lead to expect, and the process on what they miss.
void Surrogate::predict() {
  std::vector<double> missed = y_;
  for (std::size_t i = 0; i < missed.size(); ++i) {
    for (const double value : elsewhere(known_[i].position)) {
      missed[i] -= value / static_cast<double>(sources_.size());
    }
  }
  posterior_.means(missed, mean_);
  for (const std::vector<float>& above : above_best_elsewhere_) {
    for (std::size_t i = 0; i < mean_.size(); ++i) {
      mean_[i] += static_cast<float>(scaled(static_cast<double>(above[i])) / static_cast<double>(sources_.size()));
    }
  }
}

/// Brings the posterior up to what is known now, then to what is pending.
void Surrogate::catch_up() {
  if (stale_) {
    for (; fantasies_ > 0; --fantasies_) {
      posterior_.pop();
    }
    set_targets();
    const bool fit = known_.size() >= next_fit_, renew = !candidates_.complete() && (fit || !renewed_for_best_);
    if (renew) {
      renew_candidates();
    }
    if (fit) {
      refit();
    }
    if (fit || renew) {
      restart();
    }
    while (posterior_.size() < known_.size()) {
      const Known& known = known_[posterior_.size()];
      std::vector<double> trends = elsewhere(known.position);
      std::ranges::for_each(trends, [&](double& trend) { trend *= settings_.trust; });
      posterior_.add(known.digits.data(), std::move(trends));
    }
    predict();
    stale_ = false;
  }
  for (; fantasies_ < pending_.size(); ++fantasies_) {
    const Pending& pending = pending_[fantasies_];
    std::vector<double> trends = elsewhere(pending.position);
    std::ranges::for_each(trends, [&](double& trend) { trend *= settings_.trust; });
    posterior_.add(pending.digits.data(), std::move(trends));
  }
}

/// Times the share of good ones among the outcomes that are like it; one good outcome is assumed everywhere.
void Surrogate::weigh_feasibility(std::vector<float>& gain) {
  std::vector<float> row;
  for (; weighed_ < known_.size(); ++weighed_) {
    posterior_.correlations(known_[weighed_].digits.data(), row);
    const bool right = std::isfinite(known_[weighed_].time_us);
    for (std::size_t i = 0; i < row.size(); ++i) {
      weight_[i] += row[i];
      right_[i] += right ? row[i] : 0.0F;
    }
  }
  for (std::size_t i = 0; i < gain.size(); ++i) {
    gain[i] *= right_[i] / weight_[i];
  }
}

plugin::Position Surrogate::most_promising() {
  catch_up();
  std::vector<float> gain;
  const auto target = static_cast<float>(scaled(0.0));
  expected_improvement(mean_, posterior_.variance(), target, gain);
  if (settings_.feasibility) {
    weigh_feasibility(gain);
  }
  std::optional<std::size_t> chosen, likeliest;
  float least = 0.0F;
  for (std::size_t i = 0; i < gain.size(); ++i) {
    if (free_[i] == 0) {
      continue;
    }
    chosen = !chosen || gain[i] > gain[*chosen] ? i : chosen;
    const float deviations = (mean_[i] - target) / std::sqrt(std::max(posterior_.variance()[i], kSmallestVariance));
    if (!likeliest || deviations < least) {
      likeliest = i;
      least = deviations;
    }
  }
  if (!chosen) {
    return taken_.any(random_);
  }
  return candidates_.position(gain[*chosen] > kNoGain ? *chosen : *likeliest);  // no improvement in sight: the least unlikely one
}

}  // namespace hone::search
