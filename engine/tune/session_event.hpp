#pragma once
// What happens in a session, told to TuneRequest::on_event. Metrics and logs are made of it; the engine writes neither.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/device/trial.hpp"

namespace hone {

struct TuneRequest;

/// Configurations on their way to an outcome.
struct Pipeline {
  std::size_t compiling = 0;  ///< they compile, or wait for a compiler
  std::size_t ready = 0;      ///< they are compiled and wait for a device
  std::size_t measuring = 0;  ///< they are on a device
};

struct SessionEvent {
  enum class Step {
    kBegan,       ///< or resumed
    kTrial,       ///< one ended and is in the store
    kControl,     ///< a device ran the control, or left
    kFinalRound,  ///< it begins
    kFinalist,    ///< what came of one configuration in the final round
    kEnded,       ///< the session is over
    kPaused,      ///< its best so far is kept, and the same request goes on
  };
  Step step;
  const TuneRequest& request;
  std::int64_t session;
  double elapsed_seconds;  ///< into the session; of a kernel of an operation, into that of the operation
  Pipeline pipeline;
  double busy_seconds;               ///< summed over the devices, in which they had a trial or a control of this session in this run
  std::optional<double> default_us;  ///< of the default's trial
  std::optional<double> best_us;     ///< so far; with kEnded, of the winner in the final round
  std::int64_t resumed_trials = 0;   ///< of an earlier run, which had events of its own
  // These are there as long as the call lasts.
  const Trial* trial = nullptr;      ///< with kTrial and kFinalist; with kEnded, of the winner, if there is one
  const Control* control = nullptr;  ///< with kControl
};

}  // namespace hone
