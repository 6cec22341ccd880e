#pragma once
// A Gaussian process on what is known, with other sources' knowledge as trends or without: its means and variances at the candidates.

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
  double prior_quantile = 0.25;  ///< what is not known is expected at this quantile of what is; negative: at the mean
  std::size_t refit_every = 1;   ///< observations between fits up to `refit_each_until`, then at each growth by `refit_growth`
  std::size_t refit_each_until = 24;
  double refit_growth = 1.35;
  std::size_t fitted = 200;  ///< length scales are learned on at most so many observations
  double trust = 0.5;        ///< standard deviation of a source's factor around its expected one

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
/// uncertain factor (Rasmussen and Williams 2006, section 2.7): once outcomes contradict it, its factor goes to nothing.
class Model {
 public:
  /// What it refers to must outlive it.
  Model(const Metric& metric, const Candidates& candidates, const ModelSettings& settings);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// To be called when the candidates have changed. `elsewhere`: by source, log time above its best at each candidate.
  void renew(std::vector<std::vector<float>> elsewhere);
  /// To be called when what is known will be other outcomes the next time, not the same and more.
  void forget();
  /// Takes in what became known, at least one good outcome; fits where due. What was awaited is forgotten.
  void learn(const std::vector<Known>& known, plugin::Random& random);
  /// Awaited configurations count as known at their predicted time.
  void await(plugin::Position position, const plugin::Digits& digits);
  [[nodiscard]] std::size_t awaited() const { return awaited_; }

  [[nodiscard]] const std::vector<float>& mean() const { return mean_; }
  [[nodiscard]] const std::vector<float>& variance() const { return posterior_.variance(); }
  /// The best time known, in the units of the mean.
  [[nodiscard]] float best() const { return static_cast<float>(scaled(0.0)); }
  /// Share of good ones among the outcomes that are like each candidate; one good outcome is assumed everywhere.
  [[nodiscard]] std::vector<float> feasibility(const std::vector<Known>& known);
  /// Of the variation of what was known at the last fit, the part that it leaves: by how much better each outcome was predicted from those
  /// before it than by their mean. 1 where the configuration seems to make no difference.
  [[nodiscard]] double unexplained() const { return unexplained_; }
  /// Negative log evidence of the last fit.
  [[nodiscard]] double surprise() const { return surprise_; }

 private:
  [[nodiscard]] bool improved(const std::vector<Known>& known) const;
  void set_scale(const std::vector<Known>& known);
  void refit(const std::vector<Known>& known, plugin::Random& random);
  void restart();
  [[nodiscard]] Posterior::Observed observed(plugin::Position position, const plugin::Digits& digits) const;
  void predict(const std::vector<Known>& known, std::size_t from);
  /// `above`: compressed log time above the best.
  [[nodiscard]] double scaled(double above) const { return (above - prior_) / deviation_; }
  /// What a source's value is as a trend, on the scale of the last restart: the posterior may hold no two.
  [[nodiscard]] double trend(double above) const { return settings_.trust * (above - trend_prior_) / trend_deviation_; }
  /// The sources at a configuration; one that is no candidate is said to be as expected.
  [[nodiscard]] std::vector<double> elsewhere(plugin::Position position) const;

  const Metric& metric_;
  const Candidates& candidates_;
  ModelSettings settings_;
  std::vector<std::vector<float>> elsewhere_;
  Posterior posterior_;
  Hyper hyper_;
  std::size_t next_fit_ = 0, awaited_ = 0;
  double unexplained_ = 1.0, surprise_ = 0.0;
  bool renewed_ = true;
  Scale scale_;                                       ///< of the last fit or the last best: in between, means need not be made anew
  double best_us_ = 0.0;                              ///< its best
  std::vector<double> y_;                             ///< of each known configuration
  double prior_ = 0.0, deviation_ = 1.0;              ///< y = (compressed log time above the best - prior_) / deviation_
  double trend_prior_ = 0.0, trend_deviation_ = 1.0;  ///< these at the last restart
  std::vector<float> mean_;
  std::vector<float> right_, weight_;  ///< of each candidate: correlations with good outcomes, and with all
  std::size_t weighed_ = 0;            ///< known configurations that these take into account
};

}  // namespace hone::search
