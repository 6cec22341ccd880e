// Uniform without replacement: what every other strategy has to beat.
#include <random>
#include <unordered_map>

#include "search/proposals.hpp"

namespace hone {
namespace {

/// A shuffle of all positions, made as far as it is read: an entry that is not in the table is still in its own place.
class Shuffle {
 public:
  explicit Shuffle(Count size) : size_(size) {}

  Count next(std::mt19937_64& random) {
    const Count chosen = next_ + below(random, size_ - next_);
    const Count drawn = at(chosen);
    moved_[chosen] = at(next_);
    moved_.erase(next_++);
    return drawn;
  }

 private:
  [[nodiscard]] Count at(Count place) const {
    const auto moved = moved_.find(place);
    return moved == moved_.end() ? place : moved->second;
  }

  /// Uniform in [0, size): numbers beyond the largest multiple of `size` would favour small results and are drawn again.
  static Count below(std::mt19937_64& random, Count size) {
    const Count limit = ~Count{0} - ~Count{0} % size;
    for (;;) {
      const Count high = random();
      const Count drawn = high << 64 | random();
      if (drawn < limit) {
        return drawn % size;
      }
    }
  }

  Count size_ = 0, next_ = 0;
  std::unordered_map<Count, Count, search::CountHash> moved_;
};

class RandomStrategy final : public Strategy {
 public:
  explicit RandomStrategy(const StrategyContext& context) : proposals_(context), shuffle_(context.space->size()), random_(context.seed) {}

  std::vector<Count> ask(std::size_t n) override {
    std::vector<Count> proposed;
    while (proposed.size() < n && !exhausted()) {
      const Count position = shuffle_.next(random_);
      if (proposals_.claim(position)) {
        proposed.push_back(position);
      }
    }
    return proposed;
  }

  void tell(std::span<const Observation> observations) override { proposals_.claim(observations); }
  [[nodiscard]] bool exhausted() const override { return proposals_.left() == 0; }

 private:
  search::Proposals proposals_;
  Shuffle shuffle_;
  std::mt19937_64 random_;
};

class RandomPlugin final : public StrategyPlugin {
 public:
  [[nodiscard]] std::string_view name() const override { return "random"; }
  [[nodiscard]] std::string_view summary() const override { return "uniform over the space, nothing twice"; }
  [[nodiscard]] std::unique_ptr<Strategy> create(const StrategyContext& context) const override {
    return std::make_unique<RandomStrategy>(context);
  }
};

}  // namespace

std::unique_ptr<StrategyPlugin> make_random_strategy() { return std::make_unique<RandomPlugin>(); }

}  // namespace hone
