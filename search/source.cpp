#include "search/source.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "search/posterior.hpp"

namespace hone::search {
namespace {

constexpr std::size_t kModelled = 200;  // records that a source's model is made from: half the fastest, half spread over the rest
constexpr int kSourceIterations = 25;

std::size_t good(const plugin::Prior& prior) {
  return static_cast<std::size_t>(std::ranges::count_if(prior.observations, &plugin::Observation::eligible));
}

}  // namespace

Source::Source(const plugin::Prior& prior, plugin::Space space, const ScaleSettings& settings) : space_(space) {
  std::vector<double> times;
  for (const plugin::Observation& observation : prior.observations) {
    times.push_back(observation.objective());
  }
  const std::vector<double> above = search::above_best(times, settings);
  std::vector<std::size_t> order(times.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return std::pair(!prior.observations[i].eligible(), times[i]); });
  for (const std::size_t i : order) {
    if (above_.emplace(prior.observations[i].at(), above[i]).second) {
      ranking_.push_back(prior.observations[i].at());
    }
  }
}

std::vector<float> Source::above_best(const Metric& metric, const Candidates& candidates) {
  std::vector<float> values(candidates.size());
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto known = above_.find(candidates.position(i));
    if (known != above_.end()) {
      values[i] = static_cast<float>(known->second);
    } else {
      missing.push_back(i);
    }
  }
  if (!missing.empty()) {
    if (!fit_) {
      fit_ = fit(metric);
    }
    const std::vector<float> model = modelled(metric, candidates);
    for (const std::size_t i : missing) {
      values[i] = model[i];
    }
  }
  return values;
}

/// The records that its model is made from.
std::vector<plugin::Position> Source::telling() const {
  std::vector<plugin::Position> chosen(ranking_.begin(),
                                       ranking_.begin() + static_cast<std::ptrdiff_t>(std::min(kModelled / 2, ranking_.size())));
  const std::size_t rest = ranking_.size() - chosen.size(), wanted = std::min(rest, kModelled - chosen.size());
  for (std::size_t i = 0; i < wanted; ++i) {
    chosen.push_back(ranking_[ranking_.size() - rest + i * rest / wanted]);
  }
  return chosen;
}

Source::Fit Source::fit(const Metric& metric) const {
  Fit fit;
  std::vector<double> y;
  for (const plugin::Position position : telling()) {
    fit.digits.push_back(space_.at(position));
    y.push_back(above_.at(position));
  }
  const auto count = static_cast<double>(y.size());
  fit.mean = std::accumulate(y.begin(), y.end(), 0.0) / count;
  const double squares =
      std::accumulate(y.begin(), y.end(), 0.0, [&](double sum, double value) { return sum + (value - fit.mean) * (value - fit.mean); });
  fit.deviation = std::sqrt(squares / count) + 1e-3;
  Targets targets;
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = (y[i] - fit.mean) / fit.deviation;
    targets.points.push_back(fit.digits[i].data());
  }
  targets.y = y;
  Evidence evidence(metric, std::move(targets));
  fit.hyper = maximum_a_posteriori(evidence, evidence.centre(), kSourceIterations);
  Posterior posterior(metric);
  posterior.reset(fit.hyper);
  for (const plugin::Digits& point : fit.digits) {
    posterior.add({{point, {}}});
  }
  fit.weights = posterior.weights(y);
  return fit;
}

std::vector<float> Source::modelled(const Metric& metric, const Candidates& candidates) const {
  Posterior posterior(metric);
  posterior.candidates(candidates);
  posterior.reset(fit_->hyper);
  std::vector<float> values(candidates.size(), static_cast<float>(fit_->mean)), row;
  for (std::size_t record = 0; record < fit_->digits.size(); ++record) {
    posterior.correlations(fit_->digits[record].data(), row);
    const auto scale = static_cast<float>(fit_->deviation * fit_->weights[record]);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] += scale * row[i];
    }
  }
  for (float& value : values) {
    value = std::max(0.0F, value);
  }
  return values;
}

std::vector<Source> sources_of(const plugin::Context& context, const ScaleSettings& settings, std::size_t most) {
  std::vector<plugin::Prior> priors = context.priors();
  std::erase_if(priors, [](const plugin::Prior& prior) { return good(prior) < Source::kFewest; });
  std::ranges::stable_sort(priors, std::greater<>(), good);
  priors.resize(std::min(priors.size(), most));
  std::vector<Source> sources;
  for (const plugin::Prior& prior : priors) {
    sources.emplace_back(prior, context.space(), settings);
  }
  return sources;
}

}  // namespace hone::search
