#pragma once
// Which kernel of an operation is searched next: the one that may end up fastest if it got all that is left of the budget.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace hone {

/// One kernel, as far as its search has come.
struct Runner {
  std::vector<double> times_us;  ///< of its trials in their order; what failed or was not timed is infinite
  double seconds = 0.0;          ///< that a trial takes it
  bool can_go_on = true;         ///< false: nothing is left to try, or it has failed
};

/// What is left of the budget; each is infinite where the budget does not name it.
struct Remaining {
  double seconds = 0.0, trials = 0.0;
};

/// The time that a kernel may still reach with so many more trials, judged favourably: what the last doubling of its trials has gained, or
/// what so early a doubling usually gains, goes on for as many doublings as are left, each with a part of the gain before it.
double hopeful_us(const Runner& runner, double more_trials);

/// Times the fastest that a kernel may take to be in the final round: single measurements differ by a part of it.
inline constexpr double kFinalMargin = 1.06;

class Turns {
 public:
  /// How many trials each of the kernels gets before any is judged.
  static std::size_t first_share(std::size_t runners, const Remaining& remaining, double seconds_each);
  /// Who is next; nothing where nobody can go on. Ties go by their order.
  static std::optional<std::size_t> next(std::span<const Runner> runners, const Remaining& remaining);
  /// Whether it cannot catch up with the fastest even if all goes well, and is not in reach of it as it is: no more turns for it.
  static bool is_far_behind(std::size_t runner, std::span<const Runner> runners, const Remaining& remaining);
};

}  // namespace hone
