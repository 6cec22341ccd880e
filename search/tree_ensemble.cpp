// Bayesian optimisation as SMAC does it (Hutter, Hoos and Leyton-Brown 2011): expected improvement from an ensemble of regression trees.
// Where trees disagree, little is known. An observation costs the same however many there are, so it suits longer sessions than a Gaussian
// process.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>

#include "hone/plugin.hpp"
#include "search/candidates.hpp"
#include "search/forest.hpp"
#include "search/metric.hpp"
#include "search/scale.hpp"
#include "search/source.hpp"

namespace hone {
namespace {

using namespace plugin;

constexpr Parameter kParameters[] = {
    integer("trees", "members of the ensemble", 30, 1, 1000),
    integer("initial", "initial configurations, spread over the space (or the best from elsewhere)", 10, 1, 10000),
    real("tried", "fraction of the parameters considered for a split", 0.8, 0, 1),
    flag("bootstrap", "each tree sees a random sample of the observations", true),
    real("best_cuts", "fraction of the splits chosen among the best cuts of the parameters instead of random cuts", 0.5, 0, 1),
    real("growth", "the trees are rebuilt when the observations have grown by this factor; in between they are extended", 1.4, 1, 100),
    real("compression", "times beyond this fraction of the way from best to median are compressed by their logarithm (0: none)", 0.5, 0,
         100),
    real("failure_quantile", "a failure counts as this quantile of the times", 0.75, 0, 1),
    integer("sources", "other problems and devices whose best configurations are tried first", 4, 0, 100),
};

constexpr double kUnsure = 0.02;     // standard deviation of log time that is left where all trees agree
constexpr std::size_t kLeaders = 3;  // whose neighbours are candidates where a space is not listed whole

/// On a target of 0, in the units of the mean.
float expected_improvement(float mean, float variance) {
  const double deviation = std::sqrt(static_cast<double>(variance) + kUnsure * kUnsure), z = -static_cast<double>(mean) / deviation;
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi);
  return static_cast<float>(deviation * (density + 0.5 * z * std::erfc(-z / std::numbers::sqrt2)));
}

class TreeEnsemble final : public plugin::Strategy {
 public:
  static constexpr About kAbout{.name = "tree_ensemble",
                                .summary = "expected improvement from an ensemble of randomised regression trees",
                                .source = "https://doi.org/10.1007/978-3-642-25566-3_40",
                                .parameters = kParameters};

  explicit TreeEnsemble(const Context& context)
      : space_(context.space()),
        taken_(context),
        random_(context.seed()),
        metric_(space_, false),
        candidates_(space_),
        forest_(space_, {context.count("trees"), context.parameter("tried"), context.parameter("bootstrap") != 0.0,
                         context.parameter("best_cuts")}),
        scale_{context.parameter("compression"), context.parameter("failure_quantile")},
        initial_(context.count("initial")),
        growth_(context.parameter("growth")) {
    for (const search::Source& source : search::sources_of(context, scale_, context.count("sources"))) {
      rankings_.push_back(source.ranking());
    }
    renew_candidates();
  }
  TreeEnsemble(const TreeEnsemble&) = delete;
  TreeEnsemble& operator=(const TreeEnsemble&) = delete;

  std::vector<Position> ask(std::size_t wanted) override {
    std::vector<Position> asked;
    while (asked.size() < wanted && taken_.left() > 0) {
      asked.push_back(next());
      take(asked.back());
      points_.push_back({asked.back(), space_.at(asked.back()), std::nullopt});
    }
    return asked;
  }

  void tell(std::span<const Observation> observations) override {
    for (const Observation& observation : observations) {
      take(observation.at());
      const double time = observation.objective();
      const auto point = std::ranges::find_if(points_, [&](const Point& one) { return one.position == observation.at() && !one.time_us; });
      if (point != points_.end()) {
        point->time_us = time;
      } else {
        points_.push_back({observation.at(), space_.at(observation.at()), time});
      }
      if (observation.ok() && time < best_us_) {
        best_us_ = time;
        renewed_for_best_ = candidates_.complete();
      }
    }
  }

 private:
  /// A configuration known or awaited.
  struct Point {
    Position position = 0;
    Digits digits;
    std::optional<double> time_us;  ///< infinity for a failure; nothing while its outcome is awaited
  };

  void take(Position position) {
    taken_.claim(position);
    if (const auto candidate = candidates_.find(position)) {
      free_[*candidate] = 0;
    }
  }

  Position next() {
    if (points_.size() < initial_ || !std::isfinite(best_us_)) {
      const std::optional<Position> recalled = best_elsewhere();
      return recalled ? *recalled : farthest();
    }
    learn();
    return most_promising();
  }

  /// The next of the sources' best, each source in turn.
  std::optional<Position> best_elsewhere() {
    for (; !rankings_.empty() && recalled_ < initial_ * rankings_.size(); ++recalled_) {
      const std::vector<Position>& ranking = rankings_[recalled_ % rankings_.size()];
      const std::size_t rank = recalled_ / rankings_.size();
      if (rank < ranking.size() && !taken_.contains(ranking[rank])) {
        return ranking[rank];
      }
    }
    return std::nullopt;
  }

  /// Greedy maximin over the candidates; the first one is random.
  Position farthest() {
    for (; covered_ < points_.size(); ++covered_) {
      for (std::size_t i = 0; i < nearest_.size(); ++i) {
        nearest_[i] = std::min(nearest_[i], metric_.spread(points_[covered_].digits.data(), candidates_.digits(i)));
      }
    }
    return best_candidate(nearest_);
  }

  /// The free candidate with the largest score, a random one of equals; if none is free, any position.
  Position best_candidate(const std::vector<float>& score) {
    std::optional<std::size_t> chosen;
    std::size_t ties = 0;
    for (std::size_t i = 0; i < score.size(); ++i) {
      if (free_[i] == 0 || (chosen && score[i] < score[*chosen])) {
        continue;
      }
      ties = chosen && score[i] == score[*chosen] ? ties + 1 : 1;
      chosen = ties == 1 || random_.index(ties) == 0 ? i : chosen;
    }
    return chosen ? candidates_.position(*chosen) : taken_.any(random_);
  }

  void renew_candidates() {
    std::vector<std::size_t> order(points_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::size_t leaders = std::min(kLeaders, order.size());
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(leaders), {},
                              [&](std::size_t i) { return points_[i].time_us.value_or(std::numeric_limits<double>::infinity()); });
    std::vector<Position> centres;
    for (std::size_t i = 0; i < leaders; ++i) {
      centres.push_back(points_[order[i]].position);
    }
    candidates_.renew(random_, centres, centres, {});
    free_.resize(candidates_.size());
    for (std::size_t i = 0; i < free_.size(); ++i) {
      free_[i] = taken_.contains(candidates_.position(i)) ? 0 : 1;
    }
    nearest_.assign(candidates_.size(), std::numeric_limits<float>::max());
    covered_ = 0;
    forest_.candidates(candidates_.digits());
    renewed_for_best_ = true;
  }

  /// Log times above the best, compressed; what is awaited counts as what the trees expect of it (Ginsbourger, Le Riche and Carraro 2010).
  [[nodiscard]] std::vector<double> targets() const {
    std::vector<double> times;
    for (const Point& point : points_) {
      if (point.time_us) {
        times.push_back(*point.time_us);
      }
    }
    const std::vector<double> above = search::above_best(times, scale_);
    std::vector<double> targets;
    const double typical = std::accumulate(above.begin(), above.end(), 0.0) / static_cast<double>(above.size());
    for (std::size_t i = 0, known = 0; i < points_.size(); ++i) {
      const bool grown = forest_.observations() > 0;
      targets.push_back(points_[i].time_us ? above[known++] : grown ? forest_.mean(points_[i].digits.data()) : typical);
    }
    return targets;
  }

  /// Brings the trees up to what is known and awaited.
  void learn() {
    if (!candidates_.complete() && (points_.size() >= next_growth_ || !renewed_for_best_)) {
      renew_candidates();
    }
    const std::vector<double> y = targets();
    if (forest_.observations() == 0 || points_.size() >= next_growth_) {
      std::vector<std::uint16_t> digits;
      for (const Point& point : points_) {
        digits.insert(digits.end(), point.digits.begin(), point.digits.end());
      }
      forest_.grow(digits, y, random_);
      next_growth_ = 1 + static_cast<std::size_t>(static_cast<double>(points_.size()) * growth_);
      return;
    }
    const std::size_t grown = forest_.observations();
    forest_.retarget({y.data(), grown});
    for (std::size_t i = grown; i < points_.size(); ++i) {
      forest_.add(points_[i].digits.data(), y[i], random_);
    }
  }

  Position most_promising() {
    forest_.predict(mean_, variance_);
    for (std::size_t i = 0; i < mean_.size(); ++i) {
      mean_[i] = free_[i] == 0 ? 0.0F : expected_improvement(mean_[i], variance_[i]);
    }
    return best_candidate(mean_);
  }

  Space space_;
  Taken taken_;
  Random random_;
  search::Metric metric_;
  search::Candidates candidates_;
  search::Forest forest_;
  search::ScaleSettings scale_;
  std::size_t initial_ = 0;
  double growth_ = 1.0;
  std::vector<std::vector<Position>> rankings_;
  std::size_t recalled_ = 0;     ///< how far the sources' rankings were followed
  std::vector<Point> points_;    ///< in the order they were asked for or told of
  std::size_t next_growth_ = 0;  ///< points at which the trees are grown anew
  double best_us_ = std::numeric_limits<double>::infinity();
  bool renewed_for_best_ = true;
  std::vector<std::uint8_t> free_;  ///< of each candidate
  std::vector<float> nearest_;      ///< squared distance of each candidate to the design so far
  std::size_t covered_ = 0;         ///< points that `nearest_` takes into account
  std::vector<float> mean_, variance_;
};

}  // namespace

const hone_strategy* tree_ensemble_strategy() { return plugin::table<TreeEnsemble>(); }

}  // namespace hone
