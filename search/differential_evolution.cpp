// Differential evolution, best/1/bin: the best plus a scaled difference of two others, crossed with a member, replaces it if it is faster.
#include <algorithm>
#include <cmath>

#include "search/algorithm.hpp"

namespace hone {
namespace {

using namespace plugin;

constexpr Parameter kParameters[] = {
    integer("population", "members", 15, 4, 100000),
    real("factor", "minimum weight of the difference of two members", 0.3, 0, 2),
    real("dither", "width of the uniform range of the weight above its minimum", 0.5, 0, 2),
    real("crossover", "share of dimensions that come from the mutant", 0.9, 0, 1),
};

class DifferentialEvolution final : public search::Algorithm {
 public:
  static constexpr About kAbout{.name = "differential_evolution",
                                .summary = "best/1/bin over the indices of values, snapped to the nearest valid configuration",
                                .source = "https://doi.org/10.1023/A:1008202821328",
                                .parameters = kParameters};

  explicit DifferentialEvolution(const Context& context)
      : Algorithm(context),
        size_(context.count("population")),
        factor_(context.parameter("factor")),
        dither_(context.parameter("dither")),
        crossover_(context.parameter("crossover")) {}

 private:
  search::Steps run() override {
    positions_ = start(size_);
    times_ = co_await evaluate(positions_);
    times_.resize(positions_.size());
    for (std::size_t next = 0;; next = (next + 1) % positions_.size()) {
      std::vector<Position> trials;
      const std::size_t count = std::min(wanted(), positions_.size());
      for (std::size_t i = 0; i < count; ++i) {
        trials.push_back(trial((next + i) % positions_.size()));
      }
      const std::vector<double> found = co_await evaluate(trials);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t target = (next + i) % positions_.size();
        if (found[i] <= times_[target] && std::ranges::find(positions_, trials[i]) == positions_.end()) {
          positions_[target] = trials[i];
          times_[target] = found[i];
        }
      }
      next += count - 1;
    }
  }

  Position trial(std::size_t target) {
    const Digits top = space_.at(best());
    const Digits a = space_.at(positions_[random_.index(positions_.size())]);
    const Digits b = space_.at(positions_[random_.index(positions_.size())]);
    Digits digits = space_.at(positions_[target]);
    const double factor = factor_ + dither_ * random_.unit();
    const std::size_t always = random_.index(digits.size());
    for (std::size_t d = 0; d < digits.size(); ++d) {
      if (d == always || random_.unit() < crossover_) {
        digits[d] = mutant(d, top[d], a[d], b[d], factor);
      }
    }
    return novel(repaired(digits));
  }

  /// Labels have no differences: where two members differ, one of the labels is taken as often as the factor says.
  std::uint16_t mutant(std::size_t d, std::uint16_t top, std::uint16_t a, std::uint16_t b, double factor) {
    const hone_dimension& dimension = space_.dimension(d);
    if (dimension.kind != HONE_ORDINAL) {
      return a != b && random_.unit() < factor ? a : top;
    }
    const double most = dimension.count - 1;
    double moved = top + factor * (static_cast<double>(a) - static_cast<double>(b));
    moved = moved < 0 ? -moved : moved > most ? 2 * most - moved : moved;  // back in from the border it went over
    return static_cast<std::uint16_t>(std::clamp(std::floor(moved + random_.unit()), 0.0, most));
  }

  std::vector<Position> positions_;
  std::vector<double> times_;
  std::size_t size_;
  double factor_, dither_, crossover_;
};

}  // namespace

const hone_strategy* differential_evolution_strategy() { return plugin::table<DifferentialEvolution>(); }

}  // namespace hone
