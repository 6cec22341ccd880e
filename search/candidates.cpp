#include "search/candidates.hpp"

#include <algorithm>

namespace hone::search {
namespace {

// A model's row of 32,768 candidates is 128 KiB: at 500 observations they take 64 MiB, and an ask some milliseconds.
constexpr std::size_t kMostListed = 32768;
constexpr std::size_t kSampled = 4096;
constexpr std::size_t kCrossed = 512;

}  // namespace

Candidates::Candidates(plugin::Space space) : space_(space), complete_(space.size() <= kMostListed) {
  if (complete_) {
    std::vector<plugin::Position> all(static_cast<std::size_t>(space.size()));
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = i;
    }
    list(std::move(all));
  }
}

void Candidates::renew(plugin::Random& random, std::span<const plugin::Position> centres, std::span<const plugin::Position> parents,
                       std::vector<plugin::Position> positions) {
  if (complete_) {
    return;
  }
  const std::vector<plugin::Position> samples = space_.sample(random, kSampled);
  positions.insert(positions.end(), samples.begin(), samples.end());
  cross(random, parents, positions);
  positions.insert(positions.end(), centres.begin(), centres.end());
  for (const plugin::Position centre : centres) {
    const std::vector<plugin::Position> near = space_.neighbours(centre, plugin::Neighbourhood::kHamming);
    positions.insert(positions.end(), near.begin(), near.end());
  }
  std::ranges::sort(positions);
  positions.erase(std::ranges::unique(positions).begin(), positions.end());
  list(std::move(positions));
}

/// Uniform crossover; children that are not valid are left out.
void Candidates::cross(plugin::Random& random, std::span<const plugin::Position> parents, std::vector<plugin::Position>& children) const {
  for (std::size_t child = 0; child < kCrossed && parents.size() > 1; ++child) {
    plugin::Digits digits = space_.at(parents[random.index(parents.size())]);
    const plugin::Digits other = space_.at(parents[random.index(parents.size())]);
    for (std::size_t p = 0; p < digits.size(); ++p) {
      digits[p] = random.index(2) == 0 ? digits[p] : other[p];
    }
    if (const auto position = space_.index(digits)) {
      children.push_back(*position);
    }
  }
}

std::optional<std::size_t> Candidates::find(plugin::Position position) const {
  const auto at = std::ranges::lower_bound(positions_, position);
  return at != positions_.end() && *at == position ? std::optional(static_cast<std::size_t>(at - positions_.begin())) : std::nullopt;
}

void Candidates::list(std::vector<plugin::Position> positions) {
  positions_ = std::move(positions);
  digits_.resize(positions_.size() * space_.dimensions());
  for (std::size_t i = 0; i < positions_.size(); ++i) {
    space_.at(positions_[i], digits_.data() + i * space_.dimensions());
  }
}

}  // namespace hone::search
