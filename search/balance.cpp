#include "search/balance.hpp"

#include <cmath>

namespace hone::search {

Balance::Balance(plugin::Space space, const Candidates& candidates) : places_(space.dimensions()) {
  for (std::size_t p = 0; p < places_.size(); ++p) {
    if (space.dimension(p).kind == HONE_CATEGORICAL) {
      continue;
    }
    places_[p].resize(space.dimension(p).count);
    const float share = 1.0F / static_cast<float>(candidates.size());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      places_[p][candidates.digits(i)[p]] += share;
    }
    float below = 0.0F;
    for (float& place : places_[p]) {
      const float own = place;
      place = below + own / 2.0F;
      below += own;
    }
  }
}

float Balance::likeness(const plugin::Digits& a, const plugin::Digits& b) const {
  constexpr float kSame = 0.25F;
  float sum = 0.0F;
  for (std::size_t p = 0; p < places_.size(); ++p) {
    if (places_[p].empty()) {
      sum += a[p] == b[p] ? kSame : 0.0F;
    } else {
      const float apart = std::abs(places_[p][a[p]] - places_[p][b[p]]);
      sum += kSame - apart * (1.0F - apart);
    }
  }
  return sum;
}

}  // namespace hone::search
