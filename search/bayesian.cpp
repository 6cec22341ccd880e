// Bayesian optimisation as in the textbook, for mixed discrete spaces: a Gaussian process and expected improvement.
#include "search/surrogate.hpp"

namespace hone {
namespace {

using namespace plugin;

constexpr Parameter kParameters[] = {
    integer("initial", "initial configurations, spread over the space", 15, 1, 10000),
    real("compression", "times beyond this fraction of the way from best to median are compressed by their logarithm (0: none)", 0, 0, 100),
    real("failure_quantile", "a failure counts as this quantile of the times", 0.5, 0, 1),
    flag("alignment", "use the trailing zero bits of a value as an additional coordinate", false),
    flag("feasibility", "weight the expected improvement by the probability of not failing", true),
    integer("refit_every", "observations between fits of the length scales, at the beginning", 4, 1, 10000),
};

search::SurrogateSettings settings_of(const Context& context) {
  search::SurrogateSettings settings;
  settings.initial = context.count("initial");
  settings.model.scale.compression = context.parameter("compression");
  settings.model.scale.failure_quantile = context.parameter("failure_quantile");
  settings.model.prior_quantile = -1.0;
  settings.alignment = context.parameter("alignment") != 0.0;
  settings.feasibility = context.parameter("feasibility") != 0.0;
  settings.model.refit_every = context.count("refit_every");
  settings.spread = settings.initial;
  settings.draws = 1;
  settings.chance = 0.0;
  settings.sources = 0;
  return settings;
}

class Bayesian final : public plugin::Strategy {
 public:
  static constexpr About kAbout{.name = "bayesian",
                                .summary = "Gaussian process, expected improvement, learned feasibility",
                                .source = "https://doi.org/10.1023/A:1008306431147",
                                .parameters = kParameters};

  explicit Bayesian(const Context& context) : surrogate_(context, settings_of(context)) {}
  std::vector<Position> ask(std::size_t wanted) override { return surrogate_.ask(wanted); }
  void tell(std::span<const plugin::Observation> observations) override { surrogate_.tell(observations); }

 private:
  search::Surrogate surrogate_;
};

}  // namespace

const hone_strategy* bayesian_strategy() { return plugin::table<Bayesian>(); }

}  // namespace hone
