#include "search/source.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "search/posterior.hpp"

namespace hone::search {
namespace {

constexpr std::size_t kModelled = 200;  // records that a source's model is made from: half the fastest, half spread over the rest
constexpr int kIterations = 25;

std::size_t good(const plugin::Prior& prior) {
  return static_cast<std::size_t>(std::ranges::count_if(prior.observations, &plugin::Observation::ok));
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
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return times[i]; });
  for (const std::size_t i : order) {
    if (above_.emplace(prior.observations[i].at(), above[i]).second) {
      ranking_.push_back(prior.observations[i].at());
    }
  }
}

std::vector<float> Source::above_best(const Metric& metric, const Candidates& candidates) const {
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
    const std::vector<float> model = modelled(metric, candidates);
    for (const std::size_t i : missing) {
      values[i] = model[i];
    }
  }
  return values;
}

std::vector<float> Source::modelled(const Metric& metric, const Candidates& candidates) const {
  std::vector<plugin::Position> chosen(ranking_.begin(),
                                       ranking_.begin() + static_cast<std::ptrdiff_t>(std::min(kModelled / 2, ranking_.size())));
  const std::size_t rest = ranking_.size() - chosen.size(), wanted = std::min(rest, kModelled - chosen.size());
  for (std::size_t i = 0; i < wanted; ++i) {
    chosen.push_back(ranking_[ranking_.size() - rest + i * rest / wanted]);
  }
  std::vector<plugin::Digits> digits;
  Targets targets;
  for (const plugin::Position position : chosen) {
    digits.push_back(space_.at(position));
    targets.y.push_back(above_.at(position));
  }
  const double mean = std::accumulate(targets.y.begin(), targets.y.end(), 0.0) / static_cast<double>(targets.y.size());
  double squares = 0.0;
  for (const double y : targets.y) {
    squares += (y - mean) * (y - mean);
  }
  const double deviation = std::sqrt(squares / static_cast<double>(targets.y.size())) + 1e-3;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    targets.y[i] = (targets.y[i] - mean) / deviation;
    targets.points.push_back(digits[i].data());
  }
  const std::vector<double> y = targets.y;
  Evidence evidence(metric, std::move(targets));
  Posterior posterior(metric);
  posterior.candidates(candidates.digits());
  posterior.reset(maximum_a_posteriori(evidence, evidence.centre(), kIterations));
  for (const plugin::Digits& point : digits) {
    posterior.add(point.data());
  }
  std::vector<float> mean_of;
  posterior.means(y, mean_of);
  for (float& value : mean_of) {
    value = static_cast<float>(std::max(0.0, static_cast<double>(value) * deviation + mean));
  }
  return mean_of;
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
