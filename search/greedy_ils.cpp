// Iterated local search: climb to where no neighbour is faster, jump a little, climb again, and keep the better of the two.
#include <algorithm>

#include "search/algorithm.hpp"

namespace hone {
namespace {

using namespace plugin;

constexpr Parameter kParameters[] = {
    integer("initial", "initial random configurations; the first climb begins at the best of them", 15, 1, 10000),
    integer("strength", "dimensions changed at random to leave a local optimum", 2, 1, 1000),
    integer("patience", "consecutive jumps without improvement before the search restarts elsewhere", 12, 1, 1000000),
};

class GreedyIls final : public search::Algorithm {
 public:
  static constexpr About kAbout{.name = "greedy_ils",
                                .summary = "climbs over neighbours that differ in one parameter, and jumps from local optima",
                                .source = "https://doi.org/10.1007/978-3-319-91086-4_5",
                                .parameters = kParameters};

  explicit GreedyIls(const Context& context)
      : Algorithm(context),
        initial_(context.count("initial")),
        strength_(context.count("strength")),
        patience_(context.count("patience")) {}

 private:
  search::Steps run() override {
    const std::vector<Position> initial = start(restarts_++ == 0 ? initial_ : 1 + initial_ / 2);
    const std::vector<double> times = co_await evaluate(initial);
    const auto fastest = static_cast<std::size_t>(std::ranges::min_element(times) - times.begin());
    Position current = initial[fastest];
    double time = times[fastest], record = time;
    for (std::size_t stuck = 0; stuck < patience_; ++stuck) {
      for (std::vector<Position> left = promising_neighbours(current); !left.empty();) {
        const std::vector<Position> tried = search::take(left, wanted());
        const std::vector<double> found = co_await evaluate(tried);
        const auto better = static_cast<std::size_t>(std::ranges::min_element(found) - found.begin());
        if (found[better] < time) {
          time = found[better];
          current = tried[better];
          left = promising_neighbours(current);
        }
      }
      if (objective(best()) < record) {
        record = objective(best());
        stuck = 0;
      }
      std::vector<Position> jumps;
      for (std::size_t i = 0; i < wanted(); ++i) {
        jumps.push_back(novel(perturbed(best(), strength_)));
      }
      const std::vector<double> landed = co_await evaluate(jumps);
      const auto lucky = static_cast<std::size_t>(std::ranges::min_element(landed) - landed.begin());
      current = jumps[lucky];
      time = landed[lucky];
    }
  }

  /// In random order, without those known to be no faster.
  std::vector<Position> promising_neighbours(Position position) {
    std::vector<Position> all = space_.neighbours(position, Neighbourhood::kHamming);
    std::erase_if(all, [&](Position other) { return known(other) && objective(other) >= objective(position); });
    shuffle(all);
    return all;
  }

  std::size_t initial_, strength_, patience_, restarts_ = 0;
};

}  // namespace

const hone_strategy* greedy_ils_strategy() { return plugin::table<GreedyIls>(); }

}  // namespace hone
