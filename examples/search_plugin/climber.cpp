// A search strategy of one's own: some random configurations, then the neighbours of the best one found.
#include <hone/plugin.hpp>

using namespace hone::plugin;

class Climber : public Strategy {
 public:
  static constexpr Parameter kParameters[] = {integer("initial", "random configurations before it climbs", 10, 1, 1000)};
  static constexpr About kAbout{.name = "climber", .summary = "climbs from the best configuration found", .parameters = kParameters};

  explicit Climber(const Context& context)
      : space_(context.space()), taken_(context), random_(context.seed()), initial_(context.count("initial")) {}

  std::vector<Position> ask(std::size_t wanted) override {
    std::vector<Position> proposed;
    while (proposed.size() < wanted && taken_.left() > 0) {
      proposed.push_back(next());
      taken_.claim(proposed.back());
    }
    return proposed;
  }

  void tell(std::span<const Observation> observations) override {
    taken_.claim(observations);
    for (const Observation& seen : observations) {
      ++told_;
      if (seen.ok() && (!best_ || seen.time_us < best_->time_us)) {
        best_ = seen;
      }
    }
  }

 private:
  Position next() {
    if (best_ && told_ >= initial_) {
      for (const Position neighbour : space_.neighbours(best_->at(), Neighbourhood::kHamming)) {
        if (!taken_.contains(neighbour)) {
          return neighbour;
        }
      }
    }
    return taken_.any(random_);
  }

  Space space_;
  Taken taken_;
  Random random_;
  std::size_t initial_, told_ = 0;
  std::optional<Observation> best_;
};

HONE_STRATEGIES(Climber)
