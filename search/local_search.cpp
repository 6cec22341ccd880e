// Local search from the best configuration known: its neighbours in the order of a cheap estimate, beside a few distant candidates.
#include <algorithm>
#include <limits>
#include <optional>
#include <random>

#include "search/landscape.hpp"
#include "search/proposals.hpp"

namespace hone {
namespace {

const std::vector<StrategyParameter>& declared() {
  static const std::vector<StrategyParameter> parameters{
      {"initial", "configurations spread over the space before the search turns local", 15, 1, 10000},
      {"distant", "uniform samples that compete with the neighbours of the best", 20, 0, 10000},
      {"curiosity", "worth of being far from everything known, in standard deviations of log time", 1, 0, 100},
      {"curious_every", "one in so many proposals is a curious one", 3, 1, 1000000},
      {"ridge", "observations of a value it takes to believe in its effect", 0.5, 0, 1000},
  };
  return parameters;
}

double setting(const StrategyContext& context, std::string_view name) {
  if (const auto given = context.parameters.find(std::string(name)); given != context.parameters.end()) {
    return given->second;
  }
  return std::ranges::find(declared(), name, &StrategyParameter::name)->default_value;
}

class LocalSearch final : public Strategy {
 public:
  explicit LocalSearch(const StrategyContext& context)
      : space_(*context.space),
        proposals_(context),
        landscape_(space_, setting(context, "ridge")),
        random_(context.seed),
        initial_(static_cast<std::size_t>(setting(context, "initial"))),
        distant_(static_cast<std::size_t>(setting(context, "distant"))),
        curious_every_(static_cast<std::size_t>(setting(context, "curious_every"))),
        curiosity_(setting(context, "curiosity")) {}

  std::vector<Count> ask(std::size_t n) override {
    std::vector<Count> proposed;
    landscape_.fit();
    while (proposed.size() < n && !exhausted()) {
      const Count position = next();
      proposals_.claim(position);
      landscape_.await(landscape_.point(position));
      proposed.push_back(position);
    }
    return proposed;
  }

  void tell(std::span<const Observation> observations) override {
    proposals_.claim(observations);
    for (const Observation& observation : observations) {
      landscape_.learn(observation);
    }
  }

  [[nodiscard]] bool exhausted() const override { return proposals_.left() == 0; }

 private:
  /// Candidates of one spread-out proposal. More would push it into the corners of the space, where kernels seldom are fast.
  static constexpr std::size_t kSpreadSamples = 300;

  Count next() {
    if (landscape_.points() < initial_ || !landscape_.has_best()) {
      return farthest();
    }
    std::vector<Count> candidates = space_.neighbours(landscape_.best(), Neighbourhood::kHamming);
    const std::vector<Count> distant = space_.sample(random_, distant_);
    candidates.insert(candidates.end(), distant.begin(), distant.end());
    const double curiosity = ++guided_ % curious_every_ == 0 ? curiosity_ * landscape_.spread() : 0.0;
    return lowest(candidates, [&](const search::Point& point) {
      const search::Estimate estimate = landscape_.estimate(point);
      return estimate.log_time - curiosity * estimate.distance;
    });
  }

  /// Greedy maximin over a sample: far from everything known and awaited.
  Count farthest() {
    return lowest(space_.sample(random_, kSpreadSamples), [&](const search::Point& point) { return -landscape_.distance(point); });
  }

  template <class Score>
  Count lowest(const std::vector<Count>& candidates, const Score& score) {
    std::optional<Count> best;
    double best_score = std::numeric_limits<double>::infinity();
    for (const Count candidate : candidates) {
      if (proposals_.contains(candidate)) {
        continue;
      }
      const double candidate_score = score(landscape_.point(candidate));
      if (!best || candidate_score < best_score) {
        best = candidate;
        best_score = candidate_score;
      }
    }
    return best ? *best : any();
  }

  /// The first free position from a random one on.
  Count any() {
    Count position = space_.sample(random_);
    while (proposals_.contains(position)) {
      position = position + 1 == space_.size() ? 0 : position + 1;
    }
    return position;
  }

  const SearchSpace& space_;
  search::Proposals proposals_;
  search::Landscape landscape_;
  std::mt19937_64 random_;
  std::size_t initial_, distant_, curious_every_, guided_ = 0;
  double curiosity_;
};

class LocalSearchPlugin final : public StrategyPlugin {
 public:
  [[nodiscard]] std::string_view name() const override { return "local_search"; }
  [[nodiscard]] std::string_view summary() const override {
    return "neighbours of the best, the most promising first, and now and then a distant one";
  }
  [[nodiscard]] std::vector<StrategyParameter> parameters() const override { return declared(); }
  [[nodiscard]] std::unique_ptr<Strategy> create(const StrategyContext& context) const override {
    return std::make_unique<LocalSearch>(context);
  }
};

}  // namespace

std::unique_ptr<StrategyPlugin> make_local_search_strategy() { return std::make_unique<LocalSearchPlugin>(); }

}  // namespace hone
