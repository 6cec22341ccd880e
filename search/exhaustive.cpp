// Every configuration in order of position: for small spaces, and for recording one.
#include "search/proposals.hpp"

namespace hone {
namespace {

class ExhaustiveStrategy final : public Strategy {
 public:
  explicit ExhaustiveStrategy(const StrategyContext& context) : proposals_(context) {}

  std::vector<Count> ask(std::size_t n) override {
    std::vector<Count> proposed;
    while (proposed.size() < n && !exhausted()) {
      if (proposals_.claim(next_)) {
        proposed.push_back(next_);
      }
      ++next_;
    }
    return proposed;
  }

  void tell(std::span<const Observation> observations) override { proposals_.claim(observations); }
  [[nodiscard]] bool exhausted() const override { return proposals_.left() == 0; }

 private:
  search::Proposals proposals_;
  Count next_ = 0;
};

class ExhaustivePlugin final : public StrategyPlugin {
 public:
  [[nodiscard]] std::string_view name() const override { return "exhaustive"; }
  [[nodiscard]] std::string_view summary() const override { return "every configuration, in order of position"; }
  [[nodiscard]] std::unique_ptr<Strategy> create(const StrategyContext& context) const override {
    return std::make_unique<ExhaustiveStrategy>(context);
  }
};

}  // namespace

std::unique_ptr<StrategyPlugin> make_exhaustive_strategy() { return std::make_unique<ExhaustivePlugin>(); }

}  // namespace hone
