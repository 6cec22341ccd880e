// Uniform without replacement: what every other strategy has to beat.
#include <unordered_map>

#include "hone/plugin.hpp"

namespace hone {
namespace {

using namespace plugin;

/// A shuffle of all positions, made as far as it is read: an entry that is not in the table is still in its own place.
class Shuffle {
 public:
  explicit Shuffle(Position size) : size_(size) {}

  Position next(Random& random) {
    const Position chosen = next_ + random.below(size_ - next_);
    const Position drawn = at(chosen);
    moved_[chosen] = at(next_);
    moved_.erase(next_++);
    return drawn;
  }

 private:
  [[nodiscard]] Position at(Position place) const {
    const auto moved = moved_.find(place);
    return moved == moved_.end() ? place : moved->second;
  }

  Position size_ = 0, next_ = 0;
  std::unordered_map<Position, Position, PositionHash> moved_;
};

class RandomStrategy final : public plugin::Strategy {
 public:
  static constexpr About kAbout{.name = "random", .summary = "uniform over the space, without repetition"};

  explicit RandomStrategy(const Context& context) : taken_(context), shuffle_(context.space().size()), random_(context.seed()) {}

  std::vector<Position> ask(std::size_t wanted) override {
    std::vector<Position> proposed;
    while (proposed.size() < wanted && taken_.left() > 0) {
      const Position position = shuffle_.next(random_);
      if (taken_.claim(position)) {
        proposed.push_back(position);
      }
    }
    return proposed;
  }

  void tell(std::span<const plugin::Observation> observations) override { taken_.claim(observations); }

 private:
  Taken taken_;
  Shuffle shuffle_;
  Random random_;
};

}  // namespace

const hone_strategy* random_strategy() { return plugin::table<RandomStrategy>(); }

}  // namespace hone
