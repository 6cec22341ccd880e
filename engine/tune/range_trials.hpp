#pragma once
// Trials at one shape of a range, by a session that searches or by a survey that times what is known.

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "engine/store/store.hpp"
#include "engine/tune/monitor.hpp"
#include "engine/tune/portfolio_proposals.hpp"
#include "engine/tune/portfolio_session.hpp"
#include "engine/tune/range_knowledge.hpp"
#include "engine/tune/range_outcomes.hpp"
#include "engine/tune/survey.hpp"
#include "engine/tune/trial_times.hpp"
#include "engine/worker/idle_workers.hpp"

namespace hone {

class RangeTrials {
 public:
  /// Holds references to all. `common`: the devices, and what holds for every session. What is measured goes to `knowledge`, which is
  /// inside `monitor`: who calls is inside, and is outside while something is measured.
  RangeTrials(const Operation& operation, const TuneRequest& common, Store& store, const Registry& registry, RangeKnowledge& knowledge,
              Monitor& monitor)
      : operation_(operation), common_(common), store_(store), registry_(registry), knowledge_(knowledge), monitor_(monitor) {}

  /// Times configurations for so many seconds in all, on the first device. False where none was right, which is not noted: that is the
  /// shape's doing, more likely than all of theirs; but what raced, faulted or hung is no member of what is learned from then on. Errors:
  /// kCancelled; the store's; the shape is none of the operation's.
  Result<bool> survey(const Shape& shape, const PortfolioProposals::First& configurations, double seconds, Gate gate = Gate::kOneRun);
  /// A session that begins with `first`; `keeps_record`: TuneRequest's. Errors: the session's.
  Result<void> search(const Shape& shape, PortfolioProposals::First first, const Budget& budget, bool keeps_record);
  /// Of surveys, also those in which nothing was right, and of sessions that ended.
  [[nodiscard]] const RangeOutcomes& outcomes() const { return outcomes_; }

 private:
  Result<void> add(const Shape& shape, const KernelSpec& spec, std::int64_t session, TrialTimes& times);
  Result<void> search_one(const Shape& shape, TuneRequest one, TrialTimes& times);
  Result<void> search_all(const Shape& shape, TuneRequest common, TrialTimes& times);

  const Operation& operation_;
  const TuneRequest& common_;
  Store& store_;
  const Registry& registry_;
  RangeKnowledge& knowledge_;
  Monitor& monitor_;
  IdleWorkers idle_workers_;                                ///< for the sessions; surveys have their own processes
  std::map<std::string, std::unique_ptr<Survey>> surveys_;  ///< by kernel
  RangeOutcomes outcomes_;
};

/// What ends a range's run wherever it comes from: not the matter of one shape.
bool ends_all(const Error& error);

}  // namespace hone
