// Dual annealing: generalised simulated annealing, whose jumps follow the heavy-tailed distribution of Tsallis and shrink as it cools, and
// a local search from every new best place.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "search/algorithm.hpp"

namespace hone {
namespace {

using namespace plugin;

constexpr Parameter kParameters[] = {
    integer("initial", "initial random configurations; annealing begins at the best of them", 12, 1, 10000),
    real("temperature", "initial temperature of the jumps: higher ones reach farther", 0.3, 1e-9, 1e9),
    real("visiting", "shape of the jumps: the larger, the heavier the tail", 2.62, 1.01, 2.99),
    real("acceptance", "shape of the acceptance: the lower, the fewer slower configurations", -5, -10000, 0.99),
    real("restart", "fraction of the initial temperature at which annealing restarts", 0.01, 1e-9, 1),
    integer("local", "neighbours tried from each new best configuration", 8, 0, 1000000),
};

class DualAnnealing final : public search::Algorithm {
 public:
  static constexpr About kAbout{.name = "dual_annealing",
                                .summary = "generalised annealing with far jumps, and a local search from every new best configuration",
                                .source = "https://doi.org/10.1016/S0378-4371(96)00271-3",
                                .parameters = kParameters};

  explicit DualAnnealing(const Context& context)
      : Algorithm(context),
        initial_(context.count("initial")),
        local_(context.count("local")),
        hot_(context.parameter("temperature")),
        visiting_(context.parameter("visiting")),
        acceptance_(context.parameter("acceptance")),
        restart_(context.parameter("restart")) {}

 private:
  search::Steps run() override {
    co_await evaluate(start(initial_));
    Position current = best(), searched = current;
    double time = objective(current);
    for (double step = 1; temperature(step) > restart_ * hot_; ++step) {
      const std::vector<Position> jumps = visited(current, temperature(step));
      const std::vector<double> found = co_await evaluate(jumps);
      for (std::size_t i = 0; i < jumps.size(); ++i) {
        if (accepts(time, found[i], temperature(step) / step)) {
          current = jumps[i];
          time = found[i];
        }
      }
      if (best() == searched || std::isinf(objective(best()))) {
        continue;
      }
      for (std::vector<Position> left = unknown_neighbours(best()); !left.empty();) {
        const Position base = best();
        co_await evaluate(search::take(left, wanted()));
        if (best() != base) {
          left = unknown_neighbours(best());
        }
      }
      current = searched = best();
      time = objective(current);
    }
  }

  [[nodiscard]] double temperature(double step) const {
    return hot_ * (std::pow(2.0, visiting_ - 1) - 1) / (std::pow(1 + step, visiting_ - 1) - 1);
  }

  std::vector<Position> unknown_neighbours(Position position) {
    std::vector<Position> all = space_.neighbours(position, Neighbourhood::kHamming);
    std::erase_if(all, [&](Position other) { return known(other); });
    shuffle(all);
    all.resize(std::min(all.size(), local_));
    return all;
  }

  std::vector<Position> visited(Position from, double temperature) {
    std::vector<Position> jumps;
    for (std::size_t i = 0; i < wanted(); ++i) {
      Digits digits = space_.at(from);
      // As its authors do: now all dimensions at once, now one.
      const std::size_t only = random_.index(2 * digits.size());
      for (std::size_t d = 0; d < digits.size(); ++d) {
        if (only >= digits.size() || only == d) {
          digits[d] = moved(space_.dimension(d), digits[d], jump(temperature));
        }
      }
      jumps.push_back(novel(repaired(digits)));
    }
    return jumps;
  }

  /// A jump over the end comes in again at the other one. Between labels, one far enough leads to any.
  std::uint16_t moved(const hone_dimension& dimension, std::uint16_t digit, double jump) {
    if (dimension.kind != HONE_ORDINAL) {
      return std::abs(jump) < 0.5 ? digit : static_cast<std::uint16_t>(random_.index(dimension.count));
    }
    double place = (digit + 0.5) / dimension.count + jump;
    place -= std::floor(place);
    return static_cast<std::uint16_t>(std::min(place * dimension.count, dimension.count - 1.0));
  }

  /// Tsallis and Stariolo 1996, as SciPy computes it.
  double jump(double temperature) {
    const double q = visiting_;
    const double factor2 = std::exp((4 - q) * std::log(q - 1)), factor3 = std::exp((2 - q) * std::numbers::ln2 / (q - 1));
    const double factor4 = std::sqrt(std::numbers::pi) * std::pow(temperature, 1 / (q - 1)) * factor2 / (factor3 * (3 - q));
    const double factor5 = 1 / (q - 1) - 0.5;
    const double angle = std::numbers::pi * (1 - factor5);
    const double factor6 = angle / std::sin(angle) / std::tgamma(2 - factor5);
    const double scale = std::exp(-(q - 1) * std::log(factor6 / factor4) / (3 - q));
    const double tail = std::exp((q - 1) * std::log(std::abs(normal()) + 1e-300) / (3 - q));
    const double drawn = scale * normal() / tail;
    return std::clamp(drawn, -1e8, 1e8);
  }

  bool accepts(double now, double then, double temperature) {
    if (then <= now) {
      return true;
    }
    if (std::isinf(then)) {
      return false;
    }
    const double base = 1 - (1 - acceptance_) * std::log(then / now) / temperature;
    return base > 0 && random_.unit() < std::pow(base, 1 / (1 - acceptance_));
  }

  std::size_t initial_, local_;
  double hot_, visiting_, acceptance_, restart_;
};

}  // namespace

const hone_strategy* dual_annealing_strategy() { return plugin::table<DualAnnealing>(); }

}  // namespace hone
