// The default. Bayesian optimisation with what was found to matter on recorded spaces of GPU kernels, and transfer.
#include "search/surrogate.hpp"

namespace hone {
namespace {

using namespace plugin;

constexpr Parameter kParameters[] = {
    integer("initial", "random configurations, with the three best from elsewhere first, before the model decides", 5, 1, 10000),
    real("compression", "times beyond this fraction of the way from best to median are compressed by their logarithm (0: none)", 0.5, 0,
         100),
    real("failure_quantile", "a failure counts as this quantile of the times", 0.75, 0, 1),
    real("prior_quantile", "unknown configurations are expected at this quantile of the known times", 0.25, 0, 1),
    flag("alignment", "use the trailing zero bits of a value as an additional coordinate", true),
    real("chance", "weight of random proposals; they become fewer as the model proves itself (0: none)", 0.5, 0, 100),
    integer("spread", "initial configurations, after the first, chosen as far as possible from earlier ones", 2, 0, 10000),
    integer("draws", "random configurations of which another initial one is the least like earlier ones", 8, 1, 10000),
    integer("sources", "other problems and devices of the kernel to learn from", 4, 0, 64),
    integer("patience", "unsuccessful proposals after which every second proposal ignores the sources", 5, 1, 1000000),
    real("trust", "standard deviation of a source's factor around the expected one", 0.5, 0.01, 10),
};

search::SurrogateSettings settings_of(const Context& context) {
  search::SurrogateSettings settings;
  settings.initial = context.count("initial");
  settings.model.scale.compression = context.parameter("compression");
  settings.model.scale.failure_quantile = context.parameter("failure_quantile");
  settings.model.prior_quantile = context.parameter("prior_quantile");
  settings.alignment = context.parameter("alignment") != 0.0;
  settings.chance = context.parameter("chance");
  settings.spread = context.count("spread");
  settings.draws = context.count("draws");
  settings.sources = context.count("sources");
  settings.patience = context.count("patience");
  settings.model.trust = context.parameter("trust");
  return settings;
}

class Auto final : public plugin::Strategy {
 public:
  static constexpr About kAbout{
      .name = "auto",
      .summary = "the default: a Gaussian process adapted to GPU kernels, which learns from other shapes and devices",
      .source = "https://doi.org/10.1023/A:1008306431147",
      .parameters = kParameters};

  explicit Auto(const Context& context) : surrogate_(context, settings_of(context)) {}
  std::vector<Position> ask(std::size_t wanted) override { return surrogate_.ask(wanted); }
  void tell(std::span<const plugin::Observation> observations) override { surrogate_.tell(observations); }

 private:
  search::Surrogate surrogate_;
};

}  // namespace

const hone_strategy* auto_strategy() { return plugin::table<Auto>(); }

}  // namespace hone
