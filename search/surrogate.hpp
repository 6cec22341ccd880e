#pragma once
// Bayesian optimisation: a Gaussian process on the observed times selects the configuration with the largest expected improvement.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "hone/plugin.hpp"
#include "search/balance.hpp"
#include "search/candidates.hpp"
#include "search/chance.hpp"
#include "search/metric.hpp"
#include "search/model.hpp"
#include "search/source.hpp"

namespace hone::search {

struct SurrogateSettings {
  std::size_t initial = 5;  ///< configurations drawn from the space (or best elsewhere) before the model decides
  std::size_t spread = 2;   ///< this many after the first are as far as possible from earlier ones, once one is correct
  std::size_t draws = 8;    ///< of the other initial ones each is, of so many drawn at random, the one least like those before
  double chance = 0.5;      ///< weight of random proposals, see Chance; 0: none
  ModelSettings model = {};
  bool alignment = true;     ///< see Metric
  bool feasibility = false;  ///< weight the improvement by the probability of not failing
  std::size_t sources = 4;   ///< other problems and devices that are learned from; 0: none
  std::size_t patience = 5;  ///< unsuccessful proposals after which every second one ignores the sources
};

/// Expected improvement (Jones, Schonlau and Welch 1998, doi:10.1023/A:1008306431147) over all candidates. Pending configurations
/// count as known at their predicted time (Ginsbourger, Le Riche and Carraro 2010, doi:10.1007/978-3-642-10701-6_6).
/// With sources there are two models: one uses those whose times are correlated with the outcomes, and one uses none. The latter decides
/// where no source agrees, and takes turns where following them gains nothing.
/// Random proposals protect against a misleading model; their share falls as the model proves itself.
class Surrogate {
 public:
  Surrogate(const plugin::Context& context, const SurrogateSettings& settings);
  Surrogate(const Surrogate&) = delete;
  Surrogate& operator=(const Surrogate&) = delete;

  std::vector<plugin::Position> ask(std::size_t wanted);
  void tell(std::span<const plugin::Observation> observations);

 private:
  struct Pending {
    plugin::Position position = 0;
    plugin::Digits digits;
  };
  /// A model and the number of known configurations it has learned from.
  struct Member {
    std::unique_ptr<Model> model;
    std::size_t learned = 0;
  };
  plugin::Position next();
  plugin::Position drawn();
  plugin::Position balanced();
  plugin::Position farthest();
  plugin::Position most_promising(Model& model);
  void remember_promising(const std::vector<float>& gain);
  std::optional<plugin::Position> best_elsewhere();
  Model& model_in_turn();
  bool sources_help();
  void follow(std::vector<std::size_t> sources);
  void teach(Member& member);
  /// The free candidate with the largest value; the first of equals.
  [[nodiscard]] std::optional<std::size_t> largest_free(const std::vector<float>& values) const;
  void renew_candidates();
  void thin_lessons();
  void take(plugin::Position position);
  [[nodiscard]] bool improves(const plugin::Observation& observation) const;
  [[nodiscard]] std::vector<plugin::Position> leaders(std::size_t most) const;
  /// Whether more outcomes are pending than known: a model then mostly sees its own predictions, and random proposals are better.
  [[nodiscard]] bool blind() const { return pending_.size() > known_.size(); }
  [[nodiscard]] bool has_best() const { return best_ < known_.size(); }

  SurrogateSettings settings_;
  plugin::Space space_;
  plugin::Taken taken_;
  plugin::Random random_;
  Chance chance_;
  Metric metric_;
  Candidates candidates_;
  std::optional<Balance> balance_;  ///< made when first needed
  std::vector<std::uint8_t> free_;  ///< of each candidate
  std::vector<float> nearest_;      ///< squared distance of each candidate to the design so far
  std::size_t covered_ = 0;         ///< number of known configurations included in `nearest_`
  std::vector<Known> known_;
  std::vector<Known> lessons_;  ///< the ones that models learn from: all, or a selection if there are many
  std::vector<Pending> pending_;
  std::size_t best_ = static_cast<std::size_t>(-1);  ///< the fastest correct one; before there is any, the least slow of those too slow
  bool renewed_for_best_ = true, failed_ = false, right_ = false;
  std::vector<plugin::Position> promising_;  ///< the model's favourites of the last time, if the candidates are not the whole space
  std::size_t next_renewal_ = 0;  ///< number of known configurations at which the candidates are redrawn: as often as a model is fitted

  std::vector<Source> sources_;
  std::size_t recalled_ = 0;   ///< how far the sources' rankings were followed
  std::size_t fruitless_ = 0;  ///< outcomes since the last that improved on the best
  std::size_t turns_ = 0;
  std::vector<std::vector<float>> elsewhere_;  ///< of each source, log time above its best at each candidate
  std::vector<std::size_t> trusted_;           ///< the sources that the outcomes agree with: at first, all
  std::size_t judged_ = 0;                     ///< number of known configurations when that was last asked

  Member base_model_, transfer_model_;  ///< `transfer_model_` is empty without sources
};

}  // namespace hone::search
