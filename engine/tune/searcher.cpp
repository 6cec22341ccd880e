#include "engine/tune/searcher.hpp"

#include <utility>

#include "engine/tune/transfer.hpp"

namespace hone {
namespace {

StrategyFaults sum(StrategyFaults a, const StrategyFaults& b) {
  a.invalid += b.invalid;
  a.repeated += b.repeated;
  a.failed += b.failed;
  a.stalled += b.stalled;
  a.crashed += b.crashed;
  a.idle += b.idle;
  a.first = a.first.empty() ? b.first : a.first;
  return a;
}

}  // namespace

Result<Searcher> Searcher::start(const TuneRequest& request, const LikelySpace& spaces, const StrategyPlugin& plugin, Store& store,
                                 std::int64_t session, Count first) {
  Searcher made(request, spaces, plugin, first);
  made.narrow_ =
      spaces.narrows() && (request.likely == Likely::kOnly || (request.likely == Likely::kFirst && !plugin.weighs_expectations()));
  if (request.transfer) {
    if (request.measure.objective.is_time()) {
      HONE_ASSIGN(made.model_, store.find_model(request.spec.name, request.strategy));
    }
    HONE_ASSIGN(made.priors_, priors(request.spec, *spaces.legal(), store, session));
  }
  HONE_ASSIGN(made.strategy_, made.make_strategy());
  return made;
}

Result<Strategy> Searcher::make_strategy() const {
  StrategyContext context;
  context.space = narrow_ ? spaces_->likely() : spaces_->legal();
  if (!narrow_ && request_->likely == Likely::kFirst) {
    context.likely = std::make_shared<const LikelySpace>(*spaces_);  // of its own: a call that never returns outlives the session
  }
  context.seed = request_->seed;
  context.first = seen(first_);
  context.parameters = request_->strategy_parameters;
  const double share = can_widen() ? kLikelyShare : 1.0;
  context.expected_trials = static_cast<std::uint64_t>(share * static_cast<double>(request_->budget.trials.value_or(0)));
  context.model = model_;
  for (const Prior& prior : priors_) {
    context.priors.push_back({prior.device, prior.dtype, prior.shape, seen(prior.observations)});
  }
  return plugin_->create(std::move(context));
}

void Searcher::widen() {
  narrow_ = false;
  Result<Strategy> wide = make_strategy();
  if (!wide) {
    narrow_ = refused_ = true;
    ++earlier_faults_.failed;
    earlier_faults_.first = earlier_faults_.first.empty() ? wide.error().message : earlier_faults_.first;
    return;
  }
  strategy_->end();
  earlier_faults_ = sum(std::move(earlier_faults_), strategy_->faults());
  earlier_seconds_ += strategy_->seconds();
  strategy_ = std::move(wide).value();
  if (!observed_.empty()) {
    strategy_->tell(observed_);
  }
  for (const Count position : awaited_) {
    strategy_->take(position);
  }
}

std::vector<Observation> Searcher::seen(std::span<const Observation> observations) const {
  std::vector<Observation> translated;
  for (Observation observation : observations) {
    if (const std::optional<Count> position = seen(observation.position)) {
      observation.position = *position;
      translated.push_back(observation);
    }
  }
  return translated;
}

std::vector<Count> Searcher::ask(std::size_t n) {
  std::vector<Count> positions = strategy_->ask(n);
  for (Count& position : positions) {
    position = narrow_ ? spaces_->to_legal(position) : position;
  }
  awaited_.insert(positions.begin(), positions.end());
  return positions;
}

void Searcher::take(Count position) {
  awaited_.insert(position);
  if (const std::optional<Count> known = seen(position)) {
    strategy_->take(*known);
  }
}

void Searcher::tell(std::span<const Observation> observations) {
  for (const Observation& observation : observations) {
    awaited_.erase(observation.position);
  }
  if (can_widen()) {
    observed_.insert(observed_.end(), observations.begin(), observations.end());
  }
  const std::vector<Observation> known = seen(observations);
  if (!known.empty()) {
    strategy_->tell(known);
  }
}

StrategyFaults Searcher::faults() const { return sum(earlier_faults_, strategy_->faults()); }

std::int64_t Searcher::prior_trials() const {
  std::int64_t trials = 0;
  for (const Prior& prior : priors_) {
    for (const Observation& observation : prior.observations) {
      trials += seen(observation.position) ? 1 : 0;
    }
  }
  return trials;
}

}  // namespace hone
