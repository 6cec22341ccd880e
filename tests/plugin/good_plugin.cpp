#include "hone/plugin.hpp"

namespace {

using namespace hone::plugin;

class FromTheEnd final : public Strategy {
 public:
  static constexpr Parameter kParameters[] = {integer("step", "positions from one proposal to the next", 1, 1, 100)};
  static constexpr About kAbout{.name = "from_the_end", .summary = "the last positions first", .parameters = kParameters};

  explicit FromTheEnd(const Context& context) : next_(context.space().size()), step_(context.count("step")) {}

  std::vector<Position> ask(std::size_t wanted) override {
    std::vector<Position> proposed;
    for (; proposed.size() < wanted && next_ >= step_; next_ -= step_) {
      proposed.push_back(next_ - step_);
    }
    return proposed;
  }
  void tell(std::span<const Observation>) override {}

 private:
  Position next_;
  std::size_t step_;
};

}  // namespace

HONE_STRATEGIES(FromTheEnd)
