// Local search from the best configuration known: its neighbours in the order of a cheap estimate, beside a few distant candidates.
#include <limits>
#include <optional>

#include "search/landscape.hpp"

namespace hone {
namespace {

using namespace plugin;

constexpr Parameter kParameters[] = {
    integer("initial", "configurations spread over the space before the search turns local", 15, 1, 10000),
    integer("distant", "uniform samples that compete with the neighbours of the best", 20, 0, 10000),
    real("curiosity", "worth of being far from everything known, in standard deviations of log time", 1, 0, 100),
    integer("curious_every", "one in so many proposals is a curious one", 3, 1, 1000000),
    real("ridge", "observations of a value it takes to believe in its effect", 0.5, 0, 1000),
};

class LocalSearch final : public plugin::Strategy {
 public:
  static constexpr About kAbout{.name = "local_search",
                                .summary = "neighbours of the best, the most promising first, and now and then a distant one",
                                .parameters = kParameters};

  explicit LocalSearch(const Context& context)
      : space_(context.space()),
        taken_(context),
        landscape_(space_, context.parameter("ridge")),
        random_(context.seed()),
        initial_(context.count("initial")),
        distant_(context.count("distant")),
        curious_every_(context.count("curious_every")),
        curiosity_(context.parameter("curiosity")) {}

  std::vector<Position> ask(std::size_t wanted) override {
    std::vector<Position> proposed;
    landscape_.fit();
    while (proposed.size() < wanted && taken_.left() > 0) {
      const Position position = next();
      taken_.claim(position);
      landscape_.await(landscape_.point(position));
      proposed.push_back(position);
    }
    return proposed;
  }

  void tell(std::span<const plugin::Observation> observations) override {
    taken_.claim(observations);
    for (const plugin::Observation& observation : observations) {
      landscape_.learn(observation);
    }
  }

 private:
  /// Candidates of one spread-out proposal. More would push it into the corners of the space, where kernels seldom are fast.
  static constexpr std::size_t kSpreadSamples = 300;

  Position next() {
    if (landscape_.points() < initial_ || !landscape_.has_best()) {
      return farthest();
    }
    std::vector<Position> candidates = space_.neighbours(landscape_.best(), plugin::Neighbourhood::kHamming);
    const std::vector<Position> distant = space_.sample(random_, distant_);
    candidates.insert(candidates.end(), distant.begin(), distant.end());
    const double curiosity = ++guided_ % curious_every_ == 0 ? curiosity_ * landscape_.spread() : 0.0;
    return lowest(candidates, [&](const search::Point& point) {
      const search::Estimate estimate = landscape_.estimate(point);
      return estimate.log_time - curiosity * estimate.distance;
    });
  }

  /// Greedy maximin over a sample: far from everything known and awaited.
  Position farthest() {
    return lowest(space_.sample(random_, kSpreadSamples), [&](const search::Point& point) { return -landscape_.distance(point); });
  }

  template <class Score>
  Position lowest(const std::vector<Position>& candidates, const Score& score) {
    std::optional<Position> best;
    double best_score = std::numeric_limits<double>::infinity();
    for (const Position candidate : candidates) {
      if (taken_.contains(candidate)) {
        continue;
      }
      const double candidate_score = score(landscape_.point(candidate));
      if (!best || candidate_score < best_score) {
        best = candidate;
        best_score = candidate_score;
      }
    }
    return best ? *best : taken_.any(random_);
  }

  Space space_;
  Taken taken_;
  search::Landscape landscape_;
  Random random_;
  std::size_t initial_, distant_, curious_every_, guided_ = 0;
  double curiosity_;
};

}  // namespace

const hone_strategy* local_search_strategy() { return plugin::table<LocalSearch>(); }

}  // namespace hone
