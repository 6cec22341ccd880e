// The default. Bayesian optimisation with what was found to matter on recorded spaces of GPU kernels, and transfer.
#include "search/surrogate.hpp"

namespace hone {
namespace {

using namespace plugin;

constexpr Parameter kParameters[] = {
    integer("initial", "configurations drawn at random, the first three best elsewhere, before the model decides", 5, 1, 10000),
    real("compression", "times beyond this share of the way from best to median count by their logarithm (0: none do)", 0.5, 0, 100),
    real("failure_quantile", "a failure counts as this quantile of the times", 0.75, 0, 1),
    real("prior_quantile", "what is not known is expected at this quantile of what is", 0.25, 0, 1),
    flag("alignment", "the trailing zero bits of a value are a coordinate of their own", true),
    real("chance", "weight of random proposals beside the model's, as far as the model does not prove itself (0: none)", 0.5, 0, 100),
    integer("spread", "initial configurations, after the first, that are as far from those before as can be instead of random", 2, 0,
            10000),
    integer("sources", "other problems and devices of the kernel to learn from", 4, 0, 64),
    integer("patience", "fruitless proposals after which the sources are left out of every other one", 5, 1, 1000000),
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
  settings.sources = context.count("sources");
  settings.patience = context.count("patience");
  settings.model.trust = context.parameter("trust");
  return settings;
}

class Auto final : public plugin::Strategy {
 public:
  static constexpr About kAbout{
      .name = "auto",
      .summary = "the default: a Gaussian process that knows what GPU kernels are like and learns from other shapes and devices",
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
