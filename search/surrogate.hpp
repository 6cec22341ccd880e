#pragma once
// Bayesian optimisation: a Gaussian process on the times seen so far says which configuration is likely to improve on the best the most.

#include <cstdint>
#include <optional>
#include <vector>

#include "hone/plugin.hpp"
#include "search/candidates.hpp"
#include "search/metric.hpp"
#include "search/posterior.hpp"
#include "search/scale.hpp"
#include "search/source.hpp"

namespace hone::search {

struct SurrogateSettings {
  std::size_t initial = 5;  ///< configurations spread over the space (or best elsewhere) before the model decides
  ScaleSettings scale;
  double prior_quantile = 0.25;  ///< what is not known is expected at this quantile of what is; negative: at the mean
  bool alignment = true;         ///< see Metric
  bool feasibility = false;      ///< weigh the improvement with the odds of not failing
  std::size_t refit_every = 1;   ///< observations between fits up to `refit_each_until`, then at each growth by `refit_growth`
  std::size_t refit_each_until = 24;
  double refit_growth = 1.35;
  std::size_t fitted = 200;  ///< length scales are learned on at most so many observations
  std::size_t sources = 4;   ///< other problems and devices that are learned from; 0: none
  double trust = 0.5;        ///< standard deviation of a source's factor around its expected one
};

/// Expected improvement (Jones, Schonlau and Welch 1998, doi:10.1023/A:1008306431147) over all candidates. Configurations asked for and not
/// told of count as known at their predicted time (Ginsbourger, Le Riche and Carraro 2010, doi:10.1007/978-3-642-10701-6_6).
/// Each source is a trend of the process, a known function with an uncertain factor: once outcomes contradict it, its factor goes to
/// nothing.
class Surrogate {
 public:
  Surrogate(const plugin::Context& context, const SurrogateSettings& settings);
  Surrogate(const Surrogate&) = delete;
  Surrogate& operator=(const Surrogate&) = delete;

  std::vector<plugin::Position> ask(std::size_t wanted);
  void tell(std::span<const plugin::Observation> observations);

 private:
  struct Known {
    plugin::Position position = 0;
    plugin::Digits digits;
    double time_us = 0.0;  ///< infinity for a failure
  };
  struct Pending {
    plugin::Position position = 0;
    plugin::Digits digits;
  };
  plugin::Position next();
  plugin::Position farthest();
  plugin::Position most_promising();
  std::optional<plugin::Position> best_elsewhere();
  void renew_candidates();
  void set_targets();
  void refit();
  void restart();
  void catch_up();
  void predict();
  void weigh_feasibility(std::vector<float>& gain);
  /// Of a source at a candidate, as a target is scaled; `above`: log time above the source's best.
  [[nodiscard]] double scaled(double above) const { return (above - prior_) / deviation_; }
  /// The sources at a known configuration, scaled.
  [[nodiscard]] std::vector<double> elsewhere(plugin::Position position) const;
  [[nodiscard]] std::vector<plugin::Position> leaders(std::size_t most) const;
  [[nodiscard]] bool has_best() const { return best_ < known_.size(); }

  SurrogateSettings settings_;
  plugin::Space space_;
  plugin::Taken taken_;
  plugin::Random random_;
  Metric metric_;
  Candidates candidates_;
  std::vector<std::uint8_t> free_;  ///< of each candidate
  std::vector<float> nearest_;      ///< squared distance of each candidate to the design so far
  std::size_t covered_ = 0;         ///< known configurations that `nearest_` takes into account
  std::vector<Known> known_;
  std::vector<Pending> pending_;
  std::size_t best_ = static_cast<std::size_t>(-1);

  std::vector<Source> sources_;
  std::vector<std::vector<float>> above_best_elsewhere_;  ///< by source, of each candidate
  std::size_t recalled_ = 0;                              ///< how far the sources' rankings were followed

  Posterior posterior_;
  Hyper hyper_;
  std::size_t next_fit_ = 0, fantasies_ = 0;
  bool stale_ = true, renewed_for_best_ = true;
  std::vector<double> y_;                 ///< of each known configuration
  double prior_ = 0.0, deviation_ = 1.0;  ///< y = (log time above the best, compressed - prior_) / deviation_
  std::vector<float> mean_;
  std::vector<float> right_, weight_;  ///< of each candidate: correlations with good outcomes, and with all
  std::size_t weighed_ = 0;            ///< known configurations that these take into account
};

}  // namespace hone::search
