#pragma once
// Reads the device's counters for configurations of a problem.

#include <string>
#include <vector>

#include "engine/tune/session.hpp"

namespace hone {

/// A configuration's trial and what was counted.
struct Counted {
  Trial trial;
  std::optional<Counters> counters;     ///< of one that is right
  std::string refused = {};             ///< why there are none of one that is right: what refused them, and what to do
  std::vector<std::string> notes = {};  ///< of all of them: Tried::notes
};

/// Tries each and, when all were tried, reads the counters of those that are right. Both happen in a worker: a profiler that crashes costs
/// its counters alone. In the order given. Errors: those of a session's trials.
Result<std::vector<Counted>> count_configurations(const TuneRequest& request, const std::vector<Configuration>& configurations);

}  // namespace hone
