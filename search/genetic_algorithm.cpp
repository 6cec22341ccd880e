// A genetic algorithm whose offspring are valid: parents are chosen by tournament, crossed, mutated, and repaired to the nearest valid
// configuration. Children replace the slowest of the population if they are faster.
#include <algorithm>

#include "search/algorithm.hpp"

namespace hone {
namespace {

using namespace plugin;

constexpr Parameter kParameters[] = {
    integer("population", "number of configurations in the population", 15, 2, 100000),
    integer("tournament", "tournament size: the fastest of so many random members becomes a parent", 3, 1, 1000),
    real("uniform", "fraction of uniform crossovers; the others have one cut point", 0.5, 0, 1),
    real("mutation", "mutated dimensions per child, on average", 1, 0, 100),
};

class GeneticAlgorithm final : public search::Algorithm {
 public:
  static constexpr About kAbout{.name = "genetic_algorithm",
                                .summary = "tournament, crossover and mutation; offspring are repaired to the nearest valid configuration",
                                .source = "https://doi.org/10.1016/j.future.2020.02.069",
                                .parameters = kParameters};

  explicit GeneticAlgorithm(const Context& context)
      : Algorithm(context),
        size_(context.count("population")),
        tournament_(context.count("tournament")),
        uniform_(context.parameter("uniform")),
        mutation_(context.parameter("mutation")) {}

 private:
  struct Member {
    double time;
    Position position;
    Digits digits;
  };

  search::Steps run() override {
    population_.clear();
    std::vector<Position> born = start(size_);
    for (;;) {
      const std::vector<double> times = co_await evaluate(born);
      for (std::size_t i = 0; i < born.size(); ++i) {
        join(born[i], times[i]);
      }
      join(best(), objective(best()));  // someone else may have found it
      std::ranges::stable_sort(population_, {}, &Member::time);
      population_.resize(std::min(population_.size(), size_));
      born.clear();
      for (std::size_t i = 0; i < wanted(); ++i) {
        born.push_back(child());
      }
    }
  }

  void join(Position position, double time) {
    if (std::ranges::find(population_, position, &Member::position) == population_.end()) {
      population_.push_back({time, position, space_.at(position)});
    }
  }

  Position child() {
    const Digits& mother = parent().digits;
    const Digits& father = parent().digits;
    Digits digits = mother;
    const bool uniform = random_.unit() < uniform_;
    const std::size_t cut = random_.index(digits.size());
    for (std::size_t d = 0; d < digits.size(); ++d) {
      if (uniform ? random_.index(2) == 0 : d < cut) {
        digits[d] = father[d];
      }
      if (random_.unit() * static_cast<double>(digits.size()) < mutation_) {
        digits[d] = static_cast<std::uint16_t>(random_.index(space_.dimension(d).count));
      }
    }
    return novel(repaired(digits));
  }

  /// The population is in order of time: the fastest of those drawn is the first.
  const Member& parent() {
    std::size_t place = population_.size() - 1;
    for (std::size_t draw = 0; draw < tournament_; ++draw) {
      place = std::min(place, random_.index(population_.size()));
    }
    return population_[place];
  }

  std::vector<Member> population_;
  std::size_t size_, tournament_;
  double uniform_, mutation_;
};

}  // namespace

const hone_strategy* genetic_algorithm_strategy() { return plugin::table<GeneticAlgorithm>(); }

}  // namespace hone
