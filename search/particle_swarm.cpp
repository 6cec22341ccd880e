// Particle swarm: each particle remembers its best place and is drawn to it and to the best of all. Particles move through the places of
// values as real numbers; what is evaluated is the nearest valid configuration.
#include <algorithm>
#include <cmath>

#include "search/algorithm.hpp"

namespace hone {
namespace {

using namespace plugin;

constexpr Parameter kParameters[] = {
    integer("particles", "members of the swarm", 16, 1, 100000),
    real("inertia", "fraction of its velocity that a particle keeps", 0.5, 0, 1),
    real("cognitive", "pull towards its own best", 1.5, 0, 10),
    real("social", "pull towards the best of all", 1.5, 0, 10),
};

class ParticleSwarm final : public search::Algorithm {
 public:
  static constexpr About kAbout{.name = "particle_swarm",
                                .summary = "particles drawn to their own best and to the best of all, snapped to valid configurations",
                                .source = "https://doi.org/10.1109/ICNN.1995.488968",
                                .parameters = kParameters};

  explicit ParticleSwarm(const Context& context)
      : Algorithm(context),
        size_(context.count("particles")),
        inertia_(context.parameter("inertia")),
        cognitive_(context.parameter("cognitive")),
        social_(context.parameter("social")) {}

 private:
  struct Particle {
    std::vector<double> place, velocity;
    Position best;
    double time;
  };

  search::Steps run() override {
    const std::vector<Position> initial = start(size_);
    const std::vector<double> times = co_await evaluate(initial);
    std::vector<Particle> swarm;
    for (std::size_t i = 0; i < initial.size(); ++i) {
      swarm.push_back(particle(initial[i], times[i]));
    }
    for (std::size_t next = 0;; next = (next + 1) % swarm.size()) {
      std::vector<Position> moved;
      const std::size_t count = std::min(wanted(), swarm.size());
      for (std::size_t i = 0; i < count; ++i) {
        moved.push_back(move(swarm[(next + i) % swarm.size()]));
      }
      const std::vector<double> found = co_await evaluate(moved);
      for (std::size_t i = 0; i < count; ++i) {
        Particle& one = swarm[(next + i) % swarm.size()];
        if (found[i] < one.time) {
          one.best = moved[i];
          one.time = found[i];
        }
      }
      next += count - 1;
    }
  }

  Particle particle(Position position, double time) {
    Particle made{{}, {}, position, time};
    const Digits digits = space_.at(position);
    for (std::size_t d = 0; d < digits.size(); ++d) {
      made.place.push_back(digits[d]);
      made.velocity.push_back((random_.unit() - 0.5) * (space_.dimension(d).count - 1) * 0.5);
    }
    return made;
  }

  Position move(Particle& one) {
    const Digits own = space_.at(one.best), all = space_.at(best());
    Digits digits(own.size());
    for (std::size_t d = 0; d < own.size(); ++d) {
      const double most = space_.dimension(d).count - 1;
      double& velocity = one.velocity[d];
      velocity =
          inertia_ * velocity + cognitive_ * random_.unit() * (own[d] - one.place[d]) + social_ * random_.unit() * (all[d] - one.place[d]);
      one.place[d] = std::clamp(one.place[d] + velocity, 0.0, most);
      digits[d] = static_cast<std::uint16_t>(std::lround(one.place[d]));
    }
    // A particle that comes to rest on what is known would be lost to the search: it is kicked on.
    const Position here = repaired(digits), there = novel(here);
    if (here != there) {
      const Digits kicked = space_.at(there);
      std::ranges::copy(kicked, one.place.begin());
    }
    return there;
  }

  std::size_t size_;
  double inertia_, cognitive_, social_;
};

}  // namespace

const hone_strategy* particle_swarm_strategy() { return plugin::table<ParticleSwarm>(); }

}  // namespace hone
