// Every configuration in order of position: for small spaces, and for recording one.
#include "hone/plugin.hpp"

namespace hone {
namespace {

using namespace plugin;

class Exhaustive final : public plugin::Strategy {
 public:
  static constexpr About kAbout{.name = "exhaustive", .summary = "every configuration, in order of position"};

  explicit Exhaustive(const Context& context) : taken_(context) {}

  std::vector<Position> ask(std::size_t wanted) override {
    std::vector<Position> proposed;
    for (; proposed.size() < wanted && taken_.left() > 0; ++next_) {
      if (taken_.claim(next_)) {
        proposed.push_back(next_);
      }
    }
    return proposed;
  }

  void tell(std::span<const plugin::Observation> observations) override { taken_.claim(observations); }

 private:
  Taken taken_;
  Position next_ = 0;
};

}  // namespace

const hone_strategy* exhaustive_strategy() { return plugin::table<Exhaustive>(); }

}  // namespace hone
