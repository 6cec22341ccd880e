#pragma once
// What strategies share: the positions that are no longer to be proposed.

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_set>

#include "hone/strategy.hpp"

namespace hone::search {

struct CountHash {
  std::size_t operator()(Count count) const {
    const auto high = static_cast<std::uint64_t>(count >> 64), low = static_cast<std::uint64_t>(count);
    return static_cast<std::size_t>((low ^ (high * 0x9e3779b97f4a7c15ULL)) * 0xff51afd7ed558ccdULL);
  }
};

/// Positions proposed or told of. The default is among them from the start: the session tries it first.
class Proposals {
 public:
  explicit Proposals(const StrategyContext& context) : size_(context.space->size()) { claim(context.default_position); }

  /// Whether the position was still free; it no longer is.
  bool claim(Count position) { return position < size_ && seen_.insert(position).second; }
  void claim(std::span<const Observation> observations) {
    for (const Observation& observation : observations) {
      claim(observation.position);
    }
  }
  [[nodiscard]] bool contains(Count position) const { return seen_.contains(position); }
  [[nodiscard]] Count left() const { return size_ - seen_.size(); }

 private:
  Count size_ = 0;
  std::unordered_set<Count, CountHash> seen_;
};

}  // namespace hone::search
