#pragma once
// How long what is asked of a device's worker may take.

#include <functional>

#include "engine/tune/stage_limits.hpp"
#include "engine/worker/requests.hpp"

namespace hone {

/// Whether somebody holds the device, or has the turn to prepare there: a worker may say that it waits for it for as long as that is so.
using IsTaken = std::function<bool()>;

/// For opening the device and for filling its buffers.
RequestLimits preparing_limits(StageLimits& limits, IsTaken is_taken);

struct Patience {
  double total = 0.0;    ///< seconds for all of it
  double within = 0.0;   ///< that are left of the session
  double floor = 0.0;    ///< for a stage, however short the default's was
  bool beside = false;   ///< a process fills its buffers on the same device meanwhile
  bool on_host = false;  ///< it works on the host's cores, which others load too
};
/// For a trial, and for a final round whose finalists take turns. `limits` learn from it, and must outlive it.
RequestLimits trial_limits(StageLimits& limits, IsTaken is_taken, const Patience& patience);

}  // namespace hone
