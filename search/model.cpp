#include "search/model.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace hone::search {
namespace {

constexpr int kIterations = 25;

}  // namespace

std::size_t ModelSettings::next_fit(std::size_t count) const {
  return count < refit_each_until ? count + refit_every : static_cast<std::size_t>(std::ceil(static_cast<double>(count) * refit_growth));
}

Model::Model(const Metric& metric, const Candidates& candidates, const ModelSettings& settings)
    : metric_(metric), candidates_(candidates), settings_(settings), posterior_(metric) {}

void Model::renew(std::vector<std::vector<float>> elsewhere) {
  elsewhere_ = std::move(elsewhere);
  posterior_.candidates(candidates_);
  renewed_ = true;
}

void Model::forget() {
  y_.clear();
  next_fit_ = 0;
  renewed_ = true;
}

void Model::learn(const std::vector<Known>& known, plugin::Random& random) {
  for (; awaited_ > 0 && !renewed_; --awaited_) {
    posterior_.pop();
  }
  awaited_ = 0;
  const bool fit = known.size() >= next_fit_, rescale = fit || renewed_ || improved(known);
  const std::size_t from = rescale ? 0 : y_.size();
  if (rescale) {
    set_scale(known);
  }
  while (y_.size() < known.size()) {
    y_.push_back(scaled(scale_.above_best(known[y_.size()].time_us)));
  }
  if (fit) {
    refit(known, random);
  }
  if (fit || renewed_) {
    restart();
    renewed_ = false;
  }
  std::vector<Posterior::Observed> added;
  for (std::size_t i = posterior_.size(); i < known.size(); ++i) {
    added.push_back(observed(known[i].position, known[i].digits));
  }
  posterior_.add(std::move(added));
  predict(known, from);
}

void Model::await(plugin::Position position, const plugin::Digits& digits) {
  posterior_.add({observed(position, digits)});
  ++awaited_;
}

bool Model::improved(const std::vector<Known>& known) const {
  return std::any_of(known.begin() + static_cast<std::ptrdiff_t>(y_.size()), known.end(),
                     [this](const Known& one) { return one.time_us < best_us_; });
}

void Model::set_scale(const std::vector<Known>& known) {
  std::vector<double> values;
  for (const Known& one : known) {
    values.push_back(one.time_us);
  }
  best_us_ = *std::ranges::min_element(values);
  scale_ = Scale(values, settings_.scale);
  std::ranges::transform(values, values.begin(), [this](double time_us) { return scale_.above_best(time_us); });
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  const double squares =
      std::accumulate(values.begin(), values.end(), 0.0, [&](double sum, double y) { return sum + (y - mean) * (y - mean); });
  deviation_ = std::sqrt(squares / count) + 1e-3;
  std::ranges::sort(values);
  prior_ = settings_.prior_quantile < 0.0 ? mean : quantile(values, settings_.prior_quantile);
  y_.clear();
}

std::vector<double> Model::elsewhere(plugin::Position position) const {
  std::vector<double> values;
  const std::optional<std::size_t> candidate = elsewhere_.empty() ? std::nullopt : candidates_.find(position);
  for (const std::vector<float>& above : elsewhere_) {
    values.push_back(candidate ? static_cast<double>(above[*candidate]) : prior_);
  }
  return values;
}

/// Learns the length scales anew, on the best and a random choice of the others where there are too many.
void Model::refit(const std::vector<Known>& known, plugin::Random& random) {
  std::vector<std::size_t> chosen(known.size());
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  if (chosen.size() > settings_.fitted) {
    std::ranges::stable_sort(chosen, {}, [&](std::size_t i) { return known[i].time_us; });
    for (std::size_t i = settings_.fitted / 2; i < settings_.fitted; ++i) {
      std::swap(chosen[i], chosen[i + random.index(chosen.size() - i)]);
    }
    chosen.resize(settings_.fitted);
  }
  Targets targets;
  targets.trends.resize(elsewhere_.size());
  for (const std::size_t i : chosen) {
    const std::vector<double> values = elsewhere(known[i].position);
    double expected = 0.0;
    for (std::size_t s = 0; s < values.size(); ++s) {
      targets.trends[s].push_back(settings_.trust * scaled(values[s]));
      expected += scaled(values[s]) / static_cast<double>(values.size());
    }
    targets.points.push_back(known[i].digits.data());
    targets.y.push_back(y_[i] - expected);
  }
  Evidence evidence(metric_, std::move(targets));
  hyper_ = maximum_a_posteriori(evidence, hyper_.empty() ? evidence.centre() : hyper_, kIterations);
  Hyper gradient;
  const double gain = std::max(0.0, evidence.flat() - evidence(hyper_, gradient)) / static_cast<double>(chosen.size());
  unexplained_ = std::exp(-2.0 * gain);
  next_fit_ = settings_.next_fit(known.size());
}

/// The posterior without observations, for the hyperparameters and the scale of now.
void Model::restart() {
  trend_prior_ = prior_;
  trend_deviation_ = deviation_;
  std::vector<std::vector<float>> trends = elsewhere_;
  for (std::vector<float>& values : trends) {
    for (float& value : values) {
      value = static_cast<float>(trend(static_cast<double>(value)));
    }
  }
  posterior_.reset(hyper_, std::move(trends));
  right_.assign(candidates_.size(), 1.0F);
  weight_.assign(candidates_.size(), 1.0F);
  weighed_ = 0;
}

Posterior::Observed Model::observed(plugin::Position position, const plugin::Digits& digits) const {
  std::vector<double> trends = elsewhere(position);
  std::ranges::transform(trends, trends.begin(), [this](double above) { return trend(above); });
  return {digits, std::move(trends)};
}

/// Means at the candidates: what the sources lead to expect, and the process on what they miss. The first `from` targets are as they were.
void Model::predict(const std::vector<Known>& known, std::size_t from) {
  const auto sources = static_cast<double>(elsewhere_.size());
  std::vector<double> missed = y_;
  for (std::size_t i = 0; i < missed.size(); ++i) {
    for (const double value : elsewhere(known[i].position)) {
      missed[i] -= scaled(value) / sources;
    }
  }
  posterior_.means(missed, mean_, from);
  for (const std::vector<float>& above : elsewhere_) {
    for (std::size_t i = 0; from == 0 && i < mean_.size(); ++i) {
      mean_[i] += static_cast<float>(scaled(static_cast<double>(above[i])) / sources);
    }
  }
}

std::vector<float> Model::feasibility(const std::vector<Known>& known) {
  std::vector<float> row;
  for (; weighed_ < known.size(); ++weighed_) {
    posterior_.correlations(known[weighed_].digits.data(), row);
    const bool right = std::isfinite(known[weighed_].time_us);
    for (std::size_t i = 0; i < row.size(); ++i) {
      weight_[i] += row[i];
      right_[i] += right ? row[i] : 0.0F;
    }
  }
  std::vector<float> share(right_.size());
  std::ranges::transform(right_, weight_, share.begin(), std::divides<>());
  return share;
}

}  // namespace hone::search
