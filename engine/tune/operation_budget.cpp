#include "engine/tune/operation_budget.hpp"

#include <algorithm>
#include <limits>

namespace hone {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr double kFinalShare = 0.1;           // of a budget in seconds, kept for the final round of one kernel,
constexpr double kSeveralFinalsShare = 0.15;  // and of several
constexpr double kTurnsShare = 0.05;          // of a budget, for the comparison of the kernels' winners
constexpr std::size_t kInitialTrials = 2;     // trials of each kernel before any has more: its default, and what is expected of it

}  // namespace

void OperationBudget::go_on_after(double seconds) { earlier_seconds_ = std::max(earlier_seconds_, seconds); }

double OperationBudget::elapsed() const { return earlier_seconds_ + std::chrono::duration<double>(Clock::now() - start_).count(); }

Remaining OperationBudget::whole() const {
  const Budget& budget = common_.budget;
  return {.seconds = budget.seconds.value_or(kNoLimit), .trials = budget.trials ? static_cast<double>(*budget.trials) : kNoLimit};
}

Remaining OperationBudget::remaining() const {
  const Budget& budget = common_.budget;
  const double finals = entrants_.alive() > 1 ? kSeveralFinalsShare : kFinalShare;
  return {.seconds = budget.seconds ? *budget.seconds * (common_.finish ? 1.0 - finals : 1.0) - elapsed() : kNoLimit,
          .trials = budget.trials ? static_cast<double>(*budget.trials) - static_cast<double>(entrants_.trials()) : kNoLimit};
}

double OperationBudget::comparison_seconds() const { return kTurnsShare * common_.budget.seconds.value_or(elapsed()); }

std::size_t OperationBudget::first_share() const {
  double slowest = 0.0;
  for (const Runner& runner : entrants_.runners()) {
    slowest = std::max(slowest, runner.seconds);
  }
  return Turns::first_share(entrants_.size(), whole(), slowest);
}

std::size_t OperationBudget::initial_trials() const {
  return entrants_.one_at_a_time() || common_.budget.trials ? 0 : std::min(kInitialTrials, first_share());
}

}  // namespace hone
