#pragma once
// Which kernel's winner serves an operation after its session, and what the store knows of it.

#include <vector>

#include "engine/store/store.hpp"
#include "engine/tune/entrants.hpp"
#include "engine/tune/operation_budget.hpp"
#include "engine/tune/operation_session.hpp"

namespace hone {

class OperationWinner {
 public:
  /// Keeps references; kernels may enter `entrants` later. What becomes of each kernel, and which wins, goes to `report`.
  OperationWinner(const OperationRequest& request, Store& store, const Entrants& entrants, const OperationBudget& budget,
                  OperationReport& report)
      : request_(request), store_(store), entrants_(entrants), budget_(budget), report_(report) {}

  /// The fastest of the kernels' winners becomes what serves the operation. Each of `finalists` was measured in a final round. Errors:
  /// kCancelled; the store's.
  Result<void> crown(const std::vector<Entrant*>& finalists);
  /// Of a session that was asked to stop: each kernel's best so far, and which is the fastest where nothing is known yet. Errors: the
  /// store's.
  Result<void> keep_best();

 private:
  KernelReport& of(const Entrant& entrant) { return report_.kernels[entrant.place]; }
  [[nodiscard]] RecordKey key() const;
  Result<void> keep(const Entrant& winner);

  const OperationRequest& request_;
  Store& store_;
  const Entrants& entrants_;
  const OperationBudget& budget_;
  OperationReport& report_;
};

}  // namespace hone
