#include "hone/plugin.hpp"

namespace {

class Random final : public hone::plugin::Strategy {
 public:
  static constexpr hone::plugin::About kAbout{.name = "random", .summary = "not the one that is built in"};
  explicit Random(const hone::plugin::Context&) {}
  std::vector<hone::plugin::Position> ask(std::size_t) override { return {}; }
  void tell(std::span<const hone::plugin::Observation>) override {}
};

}  // namespace

HONE_STRATEGIES(Random)
