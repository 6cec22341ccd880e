#pragma once
// The budget of an operation's session: what is left of it for the search, and how many trials each kernel gets before others have more.

#include <chrono>
#include <cstddef>

#include "engine/tune/entrants.hpp"
#include "engine/tune/session.hpp"
#include "engine/tune/turns.hpp"

namespace hone {

class OperationBudget {
 public:
  /// Keeps references; kernels may enter `entrants` later.
  OperationBudget(const TuneRequest& common, const Entrants& entrants) : common_(common), entrants_(entrants) {}

  /// A kernel's session took so many seconds in earlier runs; the longest counts.
  void go_on_after(double seconds);
  /// This run's seconds count from now on; before, from when it was made.
  void begin() { start_ = Clock::now(); }

  /// Seconds, those of earlier runs included.
  [[nodiscard]] double elapsed() const;
  /// For the search: final rounds keep a part. Below 0 where it took more.
  [[nodiscard]] Remaining remaining() const;
  [[nodiscard]] bool is_spent() const { return remaining().seconds <= 0.0 || remaining().trials <= 0.0; }
  /// Seconds for the comparison of the kernels' winners.
  [[nodiscard]] double comparison_seconds() const;

  /// Trials of each kernel before any is judged.
  [[nodiscard]] std::size_t first_share() const;
  /// Trials of each kernel before any has its first share. 0: none. It costs what it takes to change kernels, and under a budget of trials
  /// nothing is won by it.
  [[nodiscard]] std::size_t initial_trials() const;
  [[nodiscard]] bool is_initial(const Entrant& entrant) const { return entrant.session->trials().size() < initial_trials(); }

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] Remaining whole() const;

  const TuneRequest& common_;
  const Entrants& entrants_;
  double earlier_seconds_ = 0.0;
  Clock::time_point start_ = Clock::now();
};

}  // namespace hone
