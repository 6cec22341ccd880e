#pragma once
// A Gaussian process on the observations, optionally with other sources as trends: its means and variances at the candidates.

#include <cstdint>
#include <span>
#include <vector>

#include "hone/plugin.hpp"
#include "search/candidates.hpp"
#include "search/metric.hpp"
#include "search/posterior.hpp"
#include "search/scale.hpp"

namespace hone::search {

struct ModelSettings {
  ScaleSettings scale;
  double prior_quantile = 0.25;  ///< unknown configurations are expected at this quantile of the known ones; negative: at the mean
  std::size_t refit_every = 1;   ///< observations between fits up to `refit_each_until`, then at each growth by `refit_growth`
  std::size_t refit_each_until = 24;
  double refit_growth = 1.35;
  std::size_t fitted = 200;  ///< length scales are learned on at most this many observations
  double trust = 0.5;        ///< standard deviation of a source's factor around its expected value

  /// After a fit to `count` observations.
  [[nodiscard]] std::size_t next_fit(std::size_t count) const;
};

/// A configuration and its time; infinity for a failure.
struct Known {
  plugin::Position position = 0;
  plugin::Digits digits;
  double time_us = 0.0;
};

/// Times enter as the compressed logarithm above the best, scaled. Each source is a trend of the process, a known function with an
/// uncertain factor (Rasmussen and Williams 2006, section 2.7): if outcomes contradict it, its factor tends to 0.
class Model {
 public:
  /// The objects it refers to must outlive it.
  Model(const Metric& metric, const Candidates& candidates, const ModelSettings& settings);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// Call this when the candidates have changed. `elsewhere`: for each source, log time above its best at each candidate.
  void renew(std::vector<std::vector<float>> elsewhere);
  /// Call this when the next known outcomes do not extend the previous ones.
  void forget();
  /// Adds new outcomes (at least one success is known) and refits when due. Forgets pending configurations.
  void learn(const std::vector<Known>& known, plugin::Random& random);
  /// Pending configurations count as known at their predicted time.
  void await(plugin::Position position, const plugin::Digits& digits);
  [[nodiscard]] std::size_t awaited() const { return awaited_; }

  [[nodiscard]] const std::vector<float>& mean() const { return mean_; }
  [[nodiscard]] const std::vector<float>& variance() const { return posterior_.variance(); }
  /// The best time known, in the units of the mean.
  [[nodiscard]] float best() const { return static_cast<float>(scaled(0.0)); }
  /// Share of successes among outcomes similar to each candidate; one success is assumed everywhere.
  [[nodiscard]] std::vector<float> feasibility(const std::vector<Known>& known);
  /// The unexplained part of the variation at the last fit: how much better each outcome was predicted from the earlier ones than
  /// by their mean. 1 if the configuration seems to make no difference.
  [[nodiscard]] double unexplained() const { return unexplained_; }

 private:
  [[nodiscard]] bool improved(const std::vector<Known>& known) const;
  void set_scale(const std::vector<Known>& known);
  void refit(const std::vector<Known>& known, plugin::Random& random);
  void restart();
  [[nodiscard]] Posterior::Observed observed(plugin::Position position, const plugin::Digits& digits) const;
  void predict(const std::vector<Known>& known, std::size_t from);
  /// `above`: compressed log time above the best.
  [[nodiscard]] double scaled(double above) const { return (above - prior_) / deviation_; }
  /// A source's value as a trend, on the scale of the last restart: the posterior must not mix scales.
  [[nodiscard]] double trend(double above) const { return settings_.trust * (above - trend_prior_) / trend_deviation_; }
  /// The sources' values at a configuration; the expected value if it is not a candidate.
  [[nodiscard]] std::vector<double> elsewhere(plugin::Position position) const;

  const Metric& metric_;
  const Candidates& candidates_;
  ModelSettings settings_;
  std::vector<std::vector<float>> elsewhere_;
  Posterior posterior_;
  Hyper hyper_;
  std::size_t next_fit_ = 0, awaited_ = 0;
  double unexplained_ = 1.0;
  bool renewed_ = true;
  Scale scale_;                                       ///< of the last fit or the last best: in between, means can be reused
  double best_us_ = 0.0;                              ///< its best
  std::vector<double> y_;                             ///< of each known configuration
  double prior_ = 0.0, deviation_ = 1.0;              ///< y = (compressed log time above the best - prior_) / deviation_
  double trend_prior_ = 0.0, trend_deviation_ = 1.0;  ///< these at the last restart
  std::vector<float> mean_;
  std::vector<float> right_, weight_;  ///< of each candidate: correlations with successes, and with all
  std::size_t weighed_ = 0;            ///< number of known configurations included in these
};

}  // namespace hone::search
