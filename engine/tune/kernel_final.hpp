#pragma once
// Which of several kernels' winners serves an operation.

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/device/trial.hpp"
#include "hone/error.hpp"

namespace hone {

/// The winner of one kernel.
struct KernelFinalist {
  Measurement measured;         ///< in the final round of its kernel; after time_in_turns() beside the others
  bool serves_already = false;  ///< the store has this kernel for the problem
  /// More samples of it, in microseconds, within so many seconds; as calls of a graph if `graphs`.
  std::function<Result<std::vector<double>>(double seconds, bool graphs)> time_again;
};

/// Times those that lie close to the fastest in turns, and all in the same way, for about so many seconds in all, but .02 to .1 s in a
/// turn. Where one of them cannot be timed, all keep what they had. Errors: cancelled.
Result<void> time_in_turns(std::span<KernelFinalist> finalists, double seconds);

/// The fastest; of those that cannot be told from it the kernel that serves the problem already. Nothing if there is none.
std::optional<std::size_t> pick(std::span<const KernelFinalist> finalists);

}  // namespace hone
