#pragma once
// The turns of an operation's kernels: who has the next one, and what a kernel does in it.

#include <cstddef>

#include "engine/tune/entrant_processes.hpp"
#include "engine/tune/entrants.hpp"
#include "engine/tune/operation_budget.hpp"

namespace hone {

class EntrantTurns {
 public:
  /// Keeps references; kernels may enter `entrants` later.
  EntrantTurns(const TuneRequest& common, const Entrants& entrants, const OperationBudget& budget, EntrantProcesses& processes)
      : common_(common), entrants_(entrants), budget_(budget), processes_(processes) {}

  /// The budget is spent, and what serves without this session was tried.
  [[nodiscard]] bool are_over() const { return budget_.is_spent() && entrants_.knows_serving(); }
  /// First the initial trials of each, then the first shares: what is far behind has no time to lose then, or the others have none. Then
  /// as Turns says; null where nobody can go on.
  [[nodiscard]] Entrant* next() const;
  /// Whether it would only wait for its own compilers in its turn.
  [[nodiscard]] bool must_wait_for(const Entrant& next) const;
  /// Looks after all for a moment, while the next one is not ready. Errors: of taking its trials.
  Result<void> wait_for(Entrant& next);
  /// A turn of a kernel that is active, to its end: others can measure then. Notes where nothing is left to propose. Errors: of taking its
  /// trials.
  Result<void> run(Entrant& entrant);

 private:
  [[nodiscard]] Entrant* short_of(std::size_t share, bool with_care) const;
  [[nodiscard]] std::size_t trials_for(const Entrant& entrant) const;
  Result<void> finish(Entrant& entrant, bool whole);

  const TuneRequest& common_;
  const Entrants& entrants_;
  const OperationBudget& budget_;
  EntrantProcesses& processes_;
};

}  // namespace hone
