#include "hone/session.hpp"

namespace hone {

Count default_position(const SearchSpace& space, const Configuration& wanted) {
  if (const std::optional<Count> position = space.index(wanted)) {
    return *position;
  }
  // Uniform samples, and from the nearest of them the neighbours: close enough for a stand-in, and no list of the space is needed.
  constexpr std::size_t kSamples = 512;
  const auto shared = [&](Count position) {
    const Configuration candidate = space.at(position);
    std::size_t same = 0;
    for (std::size_t i = 0; i < wanted.values.size(); ++i) {
      same += candidate.values[i] == wanted.values[i] ? 1 : 0;
    }
    return same;
  };
  std::mt19937_64 random(0);
  Count nearest = space.settle(0);
  for (const Count position : space.sample(random, kSamples)) {
    nearest = shared(position) > shared(nearest) ? position : nearest;
  }
  for (bool improved = true; improved;) {
    improved = false;
    for (const Count position : space.neighbours(nearest, Neighbourhood::kHamming)) {
      if (shared(position) > shared(nearest)) {
        nearest = position;
        improved = true;
      }
    }
  }
  return nearest;
}

}  // namespace hone
