#include "search/surrogate.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "search/agreement.hpp"
#include "search/wide.hpp"

namespace hone::search {
namespace {

constexpr float kVarianceFloor = 1e-8F;
constexpr float kNoGain = 1e-12F;
// Where a space is not listed whole: the neighbours of the best are candidates, those of what the model likes best, and what some of the
// best have in common.
constexpr std::size_t kLeaders = 3, kPromising = 3, kParents = 8;
constexpr std::size_t kRecalled =
    3;  // initial configurations that follow sources: more of one that misleads costs more than more of a good one gains
constexpr double kAgreement = 1.28;  // one in ten sources that say nothing agrees as well by chance
// A proposal takes time in proportion to what a model knows. Beyond so many outcomes more of them change little: it goes on with fewer, the
// best and some of the others.
constexpr std::size_t kMostLessons = 1024, kKeptLessons = 640;

/// Expected improvement on `target`, in the units of the mean; the normal tail after Abramowitz and Stegun 26.2.17, to 7.5e-8.
HONE_WIDE void expected_improvement(const float* mean, const float* variance, float target, std::size_t count, float* gain) {
  for (std::size_t i = 0; i < count; ++i) {
    const float deviation = std::sqrt(std::max(variance[i], kVarianceFloor)), z = (target - mean[i]) / deviation;
    const float density = 0.39894228F * fast_exp(-0.5F * z * z), t = 1.0F / (1.0F + 0.2316419F * std::abs(z));
    const float tail = density * t * (0.31938153F + t * (-0.356563782F + t * (1.781477937F + t * (-1.821255978F + t * 1.330274429F))));
    gain[i] = deviation * std::max(z * (z > 0.0F ? 1.0F - tail : tail) + density, 0.0F);
  }
}

}  // namespace

Surrogate::Surrogate(const plugin::Context& context, const SurrogateSettings& settings)
    : settings_(settings),
      space_(context.space()),
      taken_(context),
      random_(context.seed()),
      metric_(space_, settings.alignment),
      candidates_(space_),
      sources_(sources_of(context, settings.model.scale, settings.sources)) {
  base_model_.model = std::make_unique<Model>(metric_, candidates_, settings.model);
  if (!sources_.empty()) {
    transfer_model_.model = std::make_unique<Model>(metric_, candidates_, settings.model);
  }
  trusted_.resize(sources_.size());
  std::iota(trusted_.begin(), trusted_.end(), std::size_t{0});
  renew_candidates();
}

/// Known and awaited configurations stay candidates, so that the sources' values at them are at hand.
void Surrogate::renew_candidates() {
  std::vector<plugin::Position> wanted;
  for (const Known& known : lessons_) {
    wanted.push_back(known.position);
  }
  for (const Pending& pending : pending_) {
    wanted.push_back(pending.position);
  }
  std::vector<plugin::Position> centres = leaders(kLeaders);
  centres.insert(centres.end(), promising_.begin(), promising_.end());
  candidates_.renew(random_, centres, leaders(kParents), std::move(wanted));
  free_.resize(candidates_.size());
  for (std::size_t i = 0; i < free_.size(); ++i) {
    free_[i] = taken_.contains(candidates_.position(i)) ? 0 : 1;
  }
  nearest_.assign(candidates_.size(), std::numeric_limits<float>::max());
  covered_ = 0;
  base_model_.model->renew({});
  base_model_.learned = 0;
  if (transfer_model_.model) {
    elsewhere_.clear();
    for (Source& source : sources_) {
      elsewhere_.push_back(source.above_best(metric_, candidates_));
    }
    follow(trusted_);
  }
  renewed_for_best_ = true;
}

std::vector<plugin::Position> Surrogate::leaders(std::size_t count) const {
  std::vector<std::size_t> order(known_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t most = std::min(count, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(most), {}, [&](std::size_t i) { return known_[i].time_us; });
  std::vector<plugin::Position> positions;
  for (std::size_t i = 0; i < most; ++i) {
    positions.push_back(known_[order[i]].position);
  }
  return positions;
}

void Surrogate::take(plugin::Position position) {
  taken_.claim(position);
  if (const auto candidate = candidates_.find(position)) {
    free_[*candidate] = 0;
  }
}

/// Before a correct configuration is known, the least slow of those too slow shows where to search.
bool Surrogate::improves(const plugin::Observation& observation) const {
  if (observation.eligible() && !right_) {
    return true;
  }
  return observation.timed() && observation.eligible() == right_ && (!has_best() || observation.time_us < known_[best_].time_us);
}

void Surrogate::tell(std::span<const plugin::Observation> observations) {
  for (const plugin::Observation& observation : observations) {
    const plugin::Position position = observation.at();
    std::erase_if(pending_, [&](const Pending& pending) { return pending.position == position; });
    take(position);
    known_.push_back({position, space_.at(position), observation.objective()});
    lessons_.push_back(known_.back());
    failed_ = failed_ || !observation.timed();
    ++fruitless_;
    const bool improved = improves(observation);
    right_ = right_ || observation.eligible();
    chance_.told(position, observation.objective(), improved);
    if (improved) {
      best_ = known_.size() - 1;
      renewed_for_best_ = candidates_.complete();
      fruitless_ = 0;
    }
  }
}

std::vector<plugin::Position> Surrogate::ask(std::size_t wanted) {
  std::vector<plugin::Position> asked;
  while (asked.size() < wanted && taken_.left() > 0) {
    asked.push_back(next());
    take(asked.back());
    pending_.push_back({asked.back(), space_.at(asked.back())});
  }
  return asked;
}

plugin::Position Surrogate::next() {
  if (known_.size() + pending_.size() < settings_.initial || !has_best()) {
    const std::size_t begun = known_.size() + pending_.size();
    const std::optional<plugin::Position> recalled = begun < kRecalled ? best_elsewhere() : std::nullopt;
    // The corners of a wide space mostly fail or are far too slow: random draws find the first correct configuration sooner.
    const bool far = right_ && begun > 0 && begun <= settings_.spread && !blind();
    return recalled ? *recalled : far ? farthest() : begun < settings_.initial ? balanced() : drawn();
  }
  if (blind() && trusted_.empty()) {
    return drawn();
  }
  Model& model = model_in_turn();
  const bool alone = &model == base_model_.model.get();
  if (alone && settings_.chance > 0.0 && random_.unit() < chance_.share(known_[best_].time_us, model.unexplained(), settings_.chance)) {
    return drawn();
  }
  const plugin::Position position = most_promising(model);
  chance_.asked(position, false);
  return position;
}

plugin::Position Surrogate::drawn() {
  const plugin::Position position = taken_.any(random_);
  chance_.asked(position, true);
  return position;
}

/// Of some drawn at random the one least like those before.
plugin::Position Surrogate::balanced() {
  if (!balance_) {
    balance_.emplace(space_, candidates_);
  }
  plugin::Position chosen = 0;
  float least = std::numeric_limits<float>::max();
  for (std::size_t draw = 0; draw < settings_.draws; ++draw) {
    const plugin::Position position = taken_.any(random_);
    const plugin::Digits digits = space_.at(position);
    float likeness = 0.0F;
    for (const Known& known : known_) {
      likeness += balance_->likeness(digits, known.digits);
    }
    for (const Pending& pending : pending_) {
      likeness += balance_->likeness(digits, pending.digits);
    }
    if (likeness < least) {
      chosen = position;
      least = likeness;
    }
  }
  chance_.asked(chosen, true);
  return chosen;
}

/// The next of the sources' best, each source in turn.
std::optional<plugin::Position> Surrogate::best_elsewhere() {
  for (; !sources_.empty() && recalled_ < settings_.initial * sources_.size(); ++recalled_) {
    const std::vector<plugin::Position>& ranking = sources_[recalled_ % sources_.size()].ranking();
    const std::size_t rank = recalled_ / sources_.size();
    if (rank < ranking.size() && !taken_.contains(ranking[rank])) {
      return ranking[rank];
    }
  }
  return std::nullopt;
}

/// Greedy maximin over the candidates; the first one is random.
plugin::Position Surrogate::farthest() {
  const auto cover = [&](const plugin::Digits& digits) {
    for (std::size_t i = 0; i < nearest_.size(); ++i) {
      nearest_[i] = std::min(nearest_[i], metric_.spread(digits.data(), candidates_.digits(i)));
    }
  };
  for (; covered_ < known_.size(); ++covered_) {
    cover(known_[covered_].digits);
  }
  for (const Pending& pending : pending_) {
    cover(pending.digits);
  }
  std::optional<std::size_t> chosen;
  std::size_t ties = 0;
  for (std::size_t i = 0; i < nearest_.size(); ++i) {
    if (free_[i] == 0 || (chosen && nearest_[i] < nearest_[*chosen])) {
      continue;
    }
    ties = chosen && nearest_[i] == nearest_[*chosen] ? ties + 1 : 1;
    chosen = random_.index(ties) == 0 ? i : chosen;
  }
  return chosen ? candidates_.position(*chosen) : taken_.any(random_);
}

/// The better half of those that stay are the best, the others a random choice: what is far from the best still says where not to look.
void Surrogate::thin_lessons() {
  std::ranges::stable_sort(lessons_, {}, &Known::time_us);
  for (std::size_t i = kKeptLessons / 2; i < kKeptLessons; ++i) {
    std::swap(lessons_[i], lessons_[i + random_.index(lessons_.size() - i)]);
  }
  lessons_.resize(kKeptLessons);
  base_model_.model->forget();
  if (transfer_model_.model) {
    transfer_model_.model->forget();
  }
}

/// Brought up to what is known.
void Surrogate::teach(Member& member) {
  if (member.learned < known_.size()) {
    member.model->learn(lessons_, random_);
    member.learned = known_.size();
  }
}

/// The transfer model's sources from now on.
void Surrogate::follow(std::vector<std::size_t> sources) {
  trusted_ = std::move(sources);
  std::vector<std::vector<float>> elsewhere;
  for (const std::size_t source : trusted_) {
    elsewhere.push_back(elsewhere_[source]);
  }
  transfer_model_.model->renew(std::move(elsewhere));
  transfer_model_.learned = 0;
}

/// Follows the sources that the outcomes agree with. Returns whether there are any.
bool Surrogate::sources_help() {
  if (judged_ == known_.size()) {
    return !trusted_.empty();
  }
  judged_ = known_.size();
  std::vector<double> times;
  for (const Known& known : lessons_) {
    times.push_back(known.time_us);
  }
  const std::vector<double> above = above_best(times, settings_.model.scale);
  std::vector<double> here;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < lessons_.size(); ++i) {
    if (const auto place = candidates_.find(lessons_[i].position)) {  // what was drawn since the candidates were may be none of them
      here.push_back(above[i]);
      places.push_back(*place);
    }
  }
  std::vector<std::size_t> agreeing;
  for (std::size_t source = 0; source < elsewhere_.size(); ++source) {
    std::vector<double> there;
    for (const std::size_t place : places) {
      there.push_back(static_cast<double>(elsewhere_[source][place]));
    }
    if (agreement(here, there) > kAgreement) {
      agreeing.push_back(source);
    }
  }
  if (agreeing != trusted_) {
    transfer_model_.model->forget();
    follow(std::move(agreeing));
  }
  return !trusted_.empty();
}

/// The model that decides this time, brought up to what is known and awaited.
Model& Surrogate::model_in_turn() {
  if (lessons_.size() > kMostLessons) {
    thin_lessons();
  }
  const bool due = known_.size() >= next_renewal_;
  if (!candidates_.complete() && (due || !renewed_for_best_)) {
    next_renewal_ = due ? settings_.model.next_fit(known_.size()) : next_renewal_;
    renew_candidates();
  }
  const bool guided = transfer_model_.model && sources_help() && (fruitless_ < settings_.patience || turns_++ % 2 == 0);
  Member& member = guided ? transfer_model_ : base_model_;
  teach(member);
  for (std::size_t i = member.model->awaited(); i < pending_.size(); ++i) {
    member.model->await(pending_[i].position, pending_[i].digits);
  }
  return *member.model;
}

plugin::Position Surrogate::most_promising(Model& model) {
  const std::vector<float>&mean = model.mean(), &variance = model.variance();
  std::vector<float> gain(mean.size());
  expected_improvement(mean.data(), variance.data(), model.best(), gain.size(), gain.data());
  if (settings_.feasibility && failed_) {
    const std::vector<float> share = model.feasibility(lessons_);
    std::ranges::transform(gain, share, gain.begin(), std::multiplies<>());
  }
  std::optional<std::size_t> chosen = largest_free(gain);
  if (chosen && gain[*chosen] <= kNoGain) {  // no improvement in sight: the least unlikely one
    for (std::size_t i = 0; i < gain.size(); ++i) {
      gain[i] = (model.best() - mean[i]) / std::sqrt(std::max(variance[i], kVarianceFloor));
    }
    chosen = largest_free(gain);
  }
  if (!candidates_.complete()) {
    remember_promising(gain);
  }
  return chosen ? candidates_.position(*chosen) : taken_.any(random_);
}

/// The free candidates of the largest gains: the next candidates are looked for around them, so that the search climbs on the model.
void Surrogate::remember_promising(const std::vector<float>& gain) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < gain.size(); ++i) {
    if (free_[i] != 0) {
      order.push_back(i);
    }
  }
  const std::size_t most = std::min(kPromising, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(most), std::greater<>(),
                            [&](std::size_t i) { return gain[i]; });
  promising_.clear();
  for (std::size_t i = 0; i < most; ++i) {
    promising_.push_back(candidates_.position(order[i]));
  }
}

std::optional<std::size_t> Surrogate::largest_free(const std::vector<float>& values) const {
  std::optional<std::size_t> largest;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (free_[i] != 0 && (!largest || values[i] > values[*largest])) {
      largest = i;
    }
  }
  return largest;
}

}  // namespace hone::search
