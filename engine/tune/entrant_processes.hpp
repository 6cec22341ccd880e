#pragma once
// The processes of an operation's kernels: whose run, who measures, and who has how much of what compiles.

#include <memory>
#include <set>
#include <string>

#include "engine/tune/entrants.hpp"
#include "engine/tune/operation_budget.hpp"
#include "engine/tune/session.hpp"

namespace hone {

class EntrantProcesses {
 public:
  /// Keeps references; kernels may enter `entrants` later.
  EntrantProcesses(const TuneRequest& common, const Entrants& entrants, const OperationBudget& budget)
      : common_(common), entrants_(entrants), budget_(budget) {}

  /// Whether one kernel's code is compiled while another one is measured: that does not disturb the timing.
  [[nodiscard]] bool overlaps() const { return common_.device.info.compile_overlaps; }
  /// Starts a kernel's processes, which compile what is submitted first and measure nothing yet. Errors: the session's.
  Result<void> start(Entrant& entrant);
  /// Lets a kernel measure, and starts its processes where they do not run. Those of the others end where one runs at a time. Errors: the
  /// session's.
  Result<void> activate(Entrant& entrant);
  /// All compile ahead; who has the turn gets the most of it. Null: nobody has.
  void share_compilers(const Entrant* active);
  /// Those that wait for their turn go on compiling what they will begin with, where that does not disturb the timing. Null: all wait.
  void feed_others(const Entrant* active);

 private:
  const TuneRequest& common_;
  const Entrants& entrants_;
  const OperationBudget& budget_;
  std::shared_ptr<std::set<std::string>> left_ = std::make_shared<std::set<std::string>>();  ///< Beside::left
};

}  // namespace hone
