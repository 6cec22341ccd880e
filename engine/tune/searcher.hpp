#pragma once
// Who proposes in a session: its strategy, which sees the likely configurations first and then all legal ones; or these from the beginning,
// if it weighs what is expected of them by itself.

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/plugin/strategy.hpp"
#include "engine/tune/session.hpp"

namespace hone {

/// Positions here are of the legal space, whichever one the strategy sees.
class Searcher {
 public:
  /// `first`: the default, which the session tries by itself. `session` is left out of what the store tells of other sessions.
  static Result<Searcher> start(const TuneRequest& request, const LikelySpace& spaces, const StrategyPlugin& plugin, Store& store,
                                std::int64_t session, Count first);

  /// Whether the strategy sees the likely space alone, and may be given the legal one later.
  [[nodiscard]] bool can_widen() const { return narrow_ && request_->likely == Likely::kFirst && !refused_; }
  [[nodiscard]] bool sees_likely_alone() const { return narrow_; }
  /// Goes on in the legal space, with all that was observed so far. A strategy that cannot be started there goes on where it was.
  void widen();

  /// Valid positions that were not proposed before, told or taken.
  std::vector<Count> ask(std::size_t n);
  /// A position that the session tries by itself.
  void take(Count position);
  void tell(std::span<const Observation> observations);
  /// Nothing is left to propose in the space that the strategy sees.
  [[nodiscard]] bool exhausted() const { return strategy_->exhausted(); }

  /// What the strategy keeps for later sessions; empty if it has nothing to say.
  [[nodiscard]] std::string save() { return strategy_->save(); }
  /// Ends the strategy; faults() has what went wrong there, too.
  void end() { strategy_->end(); }
  [[nodiscard]] StrategyFaults faults() const;
  [[nodiscard]] double seconds() const { return earlier_seconds_ + strategy_->seconds(); }
  [[nodiscard]] std::int64_t prior_trials() const;

 private:
  Searcher(const TuneRequest& request, const LikelySpace& spaces, const StrategyPlugin& plugin, Count first)
      : request_(&request), spaces_(&spaces), plugin_(&plugin), first_(first) {}
  [[nodiscard]] Result<Strategy> make_strategy() const;
  /// The position in the space that the strategy sees; nothing for what is not in it.
  [[nodiscard]] std::optional<Count> seen(Count legal) const { return narrow_ ? spaces_->to_likely(legal) : legal; }
  [[nodiscard]] std::vector<Observation> seen(std::span<const Observation> observations) const;

  const TuneRequest* request_;
  const LikelySpace* spaces_;
  const StrategyPlugin* plugin_;
  Count first_;
  std::string model_;          ///< what an earlier session kept
  std::vector<Prior> priors_;  ///< in the legal space
  std::vector<Observation> observed_;
  std::set<Count> awaited_;  ///< proposed or taken, and not told yet
  bool narrow_ = false, refused_ = false;
  std::optional<Strategy> strategy_;
  StrategyFaults earlier_faults_;  ///< of the strategy before this one
  double earlier_seconds_ = 0.0;
};

/// The share of a budget after which a session that began with the likely configurations goes on with all legal ones.
inline constexpr double kLikelyShare = 0.7;
/// The same of one whose likely configurations still bring progress. Short sessions of large spaces end so.
inline constexpr double kMostLikelyShare = 0.9;

}  // namespace hone
