// Simulated annealing: a walk over neighbours that takes slower steps too, ever more rarely as it cools.
#include <algorithm>
#include <cmath>

#include "search/algorithm.hpp"

namespace hone {
namespace {

using namespace plugin;

constexpr Parameter kParameters[] = {
    integer("initial", "initial random configurations; the walk begins at the best of them", 12, 1, 10000),
    real("hot", "initial temperature: a step slower by this much in log time is taken with probability 1/e", 0.06, 1e-6, 100),
    real("cold", "final temperature", 0.01, 1e-6, 100),
    integer("steps", "moves until it is cold and restarts from the best; 0: chosen by the session, or 200", 0, 0, 1000000000),
    integer("patience", "consecutive rejected moves until the walk returns to the best", 25, 1, 1000000000),
    real("adjacent", "fraction of moves by one step of one parameter; the others change one parameter at random", 0.3, 0, 1),
};

constexpr double kUsualSteps = 200;

class SimulatedAnnealing final : public search::Algorithm {
 public:
  static constexpr About kAbout{.name = "simulated_annealing",
                                .summary = "a walk over neighbours that also accepts slower ones, ever more rarely",
                                .source = "https://doi.org/10.1126/science.220.4598.671",
                                .parameters = kParameters};

  explicit SimulatedAnnealing(const Context& context)
      : Algorithm(context),
        initial_(context.count("initial")),
        patience_(context.count("patience")),
        hot_(context.parameter("hot")),
        cold_(context.parameter("cold")),
        steps_(context.parameter("steps")),
        adjacent_(context.parameter("adjacent")) {
    if (steps_ == 0) {
      steps_ = context.expected_trials() > 0 ? static_cast<double>(context.expected_trials()) : kUsualSteps;
    }
  }

 private:
  search::Steps run() override {
    co_await evaluate(start(initial_));
    Position current = best();
    double time = objective(current), record = time, steps = 0;
    for (std::size_t refused = 0; steps < steps_; ++refused) {
      const std::vector<Position> moves = guesses(current);
      const std::vector<double> times = co_await evaluate(moves);
      const double temperature = hot_ * std::pow(cold_ / hot_, steps / steps_);
      for (std::size_t i = 0; i < moves.size(); ++i) {
        steps += 1;
        if (accepts(time, times[i], temperature)) {  // the moves after it were guesses from where the walk no longer is
          current = moves[i];
          time = times[i];
          refused = 0;
          break;
        }
      }
      const bool outdone = objective(best()) < std::min(record, time);  // by someone else
      record = std::min(record, objective(best()));
      if (refused > patience_ || outdone) {
        current = best();
        time = objective(current);
        refused = 0;
      }
    }
  }

  std::vector<Position> guesses(Position from) {
    std::vector<Position> moves;
    for (std::size_t i = 0; i < wanted(); ++i) {
      Position move = random_neighbour(from, random_.unit() < adjacent_);
      for (int draw = 0; draw < kDraws && known(move); ++draw) {
        move = random_neighbour(from, random_.unit() < adjacent_);
      }
      moves.push_back(move);
    }
    return moves;
  }

  bool accepts(double now, double then, double temperature) {
    if (std::isinf(then)) {
      return std::isinf(now);
    }
    return then <= now || random_.unit() < std::exp(std::log(now / then) / temperature);
  }

  static constexpr int kDraws = 4;  // until a known configuration is walked over again
  std::size_t initial_, patience_;
  double hot_, cold_, steps_, adjacent_;
};

}  // namespace

const hone_strategy* simulated_annealing_strategy() { return plugin::table<SimulatedAnnealing>(); }

}  // namespace hone
