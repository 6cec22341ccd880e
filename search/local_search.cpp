// Local search from the best configuration known: its neighbours in the order of a cheap estimate, beside a few distant candidates.
#include <algorithm>
#include <limits>
#include <optional>

#include "search/landscape.hpp"

namespace hone {
namespace {

using namespace plugin;

constexpr Parameter kParameters[] = {
    integer("initial", "initial configurations, spread over the space, before the local search", 15, 1, 10000),
    integer("distant", "uniform samples that compete with the neighbours of the best", 10, 0, 10000),
    real("curiosity", "bonus for distance from known configurations, in standard deviations of log time", 1, 0, 100),
    integer("curious_every", "one in this many proposals explores a distant configuration", 3, 1, 1000000),
    real("ridge", "observations of a value needed to trust its effect", 0.5, 0, 1000),
};

class LocalSearch final : public plugin::Strategy {
 public:
  static constexpr About kAbout{.name = "local_search",
                                .summary = "neighbours of the best, the most promising first, and occasionally a distant configuration",
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
      landscape_.await(position);
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
  static constexpr std::size_t kSpreadSamples = 150;

  /// The free position with the lowest score.
  struct Lowest {
    std::optional<Position> position;
    double score = std::numeric_limits<double>::infinity();
    void consider(Position other, double with) {
      if (!position || with < score) {
        position = other;
        score = with;
      }
    }
  };

  Position next() {
    if (landscape_.points() < initial_ || !landscape_.has_best()) {
      return farthest();
    }
    const double curiosity = ++transfer_model_ % curious_every_ == 0 ? curiosity_ * landscape_.spread() : 0.0;
    Lowest lowest;
    const auto consider = [&](search::Point& point) {
      const search::Estimate estimate = landscape_.estimate(point);
      lowest.consider(point.position, estimate.log_time - curiosity * estimate.distance);
    };
    gather_neighbours();
    std::ranges::for_each(neighbours_, consider);
    for_each_sample(distant_, consider);
    return lowest.position ? *lowest.position : taken_.any(random_);
  }

  /// Greedy maximin over a sample: far from everything known and awaited.
  Position farthest() {
    Lowest lowest;
    for_each_sample(kSpreadSamples, [&](search::Point& point) { lowest.consider(point.position, -landscape_.distance(point)); });
    return lowest.position ? *lowest.position : taken_.any(random_);
  }

  /// The free neighbours of the best, kept as long as it is the best.
  void gather_neighbours() {
    if (centre_ != landscape_.best()) {
      centre_ = landscape_.best();
      neighbours_.clear();
      for (const Position position : space_.neighbours(*centre_, plugin::Neighbourhood::kHamming)) {
        landscape_.locate(position, neighbours_.emplace_back());
      }
    }
    std::erase_if(neighbours_, [this](const search::Point& point) { return taken_.contains(point.position); });
  }

  template <class Consider>
  void for_each_sample(std::size_t count, const Consider& consider) {
    for (const Position position : space_.sample(random_, count)) {
      if (!taken_.contains(position)) {
        landscape_.locate(position, sampled_);
        consider(sampled_);
      }
    }
  }

  Space space_;
  Taken taken_;
  search::Landscape landscape_;
  Random random_;
  std::optional<Position> centre_;
  std::vector<search::Point> neighbours_;
  search::Point sampled_;  ///< its memory serves all samples
  std::size_t initial_, distant_, curious_every_, transfer_model_ = 0;
  double curiosity_;
};

}  // namespace

const hone_strategy* local_search_strategy() { return plugin::table<LocalSearch>(); }

}  // namespace hone
