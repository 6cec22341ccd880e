// A search strategy of one's own: some random configurations, of those that the kernel's author expects to win, then the neighbours of the
// best one found, whatever is expected of them.
#include <hone/plugin.hpp>

using namespace hone::plugin;

class Climber : public Strategy {
 public:
  static constexpr Parameter kParameters[] = {integer("initial", "random configurations before it climbs", 10, 1, 1000)};
  static constexpr About kAbout{
      .name = "climber", .summary = "climbs from the best configuration found", .parameters = kParameters, .weighs_expectations = true};

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
    if (told_ < initial_) {
      const std::vector<Position> likely = space_.sample_likely(random_, 1);
      if (!likely.empty() && !taken_.contains(likely.front())) {
        return likely.front();
      }
    } else if (best_) {
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
