#pragma once
// One of a session's devices: the processes that measure on it, and what they are at.

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "engine/device/trial.hpp"
#include "engine/worker/measuring_workers.hpp"

namespace hone {

/// A configuration that waits for a device, compiled.
struct ReadyTrial {
  Proposal proposal;
  Compiled compiled;
  double compile_seconds = 0.0;
  bool tried_before = false;  ///< in a process that failed before the candidate had run
  bool with_default = false;  ///< a worker asked for the default's code, and gets it where it can be had
};

struct DeviceLane {
  enum class At { kNothing, kTrial, kControl };

  DeviceLane(std::size_t which, const DeviceInfo& device, std::unique_ptr<MeasuringWorkers> measuring)
      : place(which), info(device), workers(std::move(measuring)) {}
  [[nodiscard]] bool busy() const { return at != At::kNothing; }

  const std::size_t place;  ///< among the session's devices
  const DeviceInfo info;
  const std::unique_ptr<MeasuringWorkers> workers;
  std::optional<std::int64_t> remote;  ///< the attached worker whose device it is
  At at = At::kNothing;
  ReadyTrial current;   ///< while it is at a trial
  bool shared = false;  ///< what it is at began beside a process that fills its buffers on the same device
  std::chrono::steady_clock::time_point began;
  bool left = false;    ///< this evaluator's session, whatever those beside it do
  bool vacant = false;  ///< its worker is gone, and nobody else takes part: the next one to come takes its place
  bool closed = false;  ///< the device left, and its processes were ended
  std::string why = "it left beside another kernel of the operation";
};

}  // namespace hone
