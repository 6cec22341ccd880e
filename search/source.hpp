#pragma once
// The times of another problem or device, as a prediction for this one.

#include <optional>
#include <unordered_map>
#include <vector>

#include "hone/plugin.hpp"
#include "search/candidates.hpp"
#include "search/evidence.hpp"
#include "search/metric.hpp"
#include "search/scale.hpp"

namespace hone::search {

class Source {
 public:
  /// The minimum number of successes for a source.
  static constexpr std::size_t kFewest = 5;

  /// `prior` must have at least kFewest successes.
  Source(const plugin::Prior& prior, plugin::Space space, const ScaleSettings& settings);

  /// Log time above its best at each candidate: as recorded, or predicted by a Gaussian process over the most informative records, which
  /// is fitted on first use. Always call it with the same metric.
  [[nodiscard]] std::vector<float> above_best(const Metric& metric, const Candidates& candidates);
  /// Its positions: the fastest first, then too_slow ones, failures last.
  [[nodiscard]] const std::vector<plugin::Position>& ranking() const { return ranking_; }

 private:
  /// Of records: value = mean + deviation * the sum of weight * correlation with each.
  struct Fit {
    std::vector<plugin::Digits> digits;
    std::vector<double> weights;
    double mean = 0.0, deviation = 1.0;
    Hyper hyper;
  };
  [[nodiscard]] std::vector<plugin::Position> telling() const;
  [[nodiscard]] Fit fit(const Metric& metric) const;
  [[nodiscard]] std::vector<float> modelled(const Metric& metric, const Candidates& candidates) const;

  plugin::Space space_;
  std::unordered_map<plugin::Position, double, plugin::PositionHash> above_;
  std::vector<plugin::Position> ranking_;
  std::optional<Fit> fit_;
};

/// The sources of a context with the most successes, at most `most`.
std::vector<Source> sources_of(const plugin::Context& context, const ScaleSettings& settings, std::size_t most);

}  // namespace hone::search
