#pragma once
// What another problem or device is known to do, as a guess of what this one will.

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
  /// Fewer good outcomes than this say too little.
  static constexpr std::size_t kFewest = 5;

  /// `prior` must hold at least kFewest good outcomes.
  Source(const plugin::Prior& prior, plugin::Space space, const ScaleSettings& settings);

  /// Log time above its best at each candidate: as recorded, between records as a Gaussian process over the most telling of them, which
  /// is fitted when it is needed first. Always the same metric.
  [[nodiscard]] std::vector<float> above_best(const Metric& metric, const Candidates& candidates);
  /// Its positions, the fastest first, then what was too slow, failures last.
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

/// The sources of a context with the most good outcomes, at most `most`.
std::vector<Source> sources_of(const plugin::Context& context, const ScaleSettings& settings, std::size_t most);

}  // namespace hone::search
