#pragma once
// What a process is at, as metrics tell it of every verb.

#include "cli/metrics_text.hpp"

namespace hone::cli {

enum class RunState { kRunning, kDone, kInterrupted, kFailed };

/// Version, state and when this is written.
void write_run_state(MetricsText& out, RunState state, double unix_seconds);

}  // namespace hone::cli
