#pragma once
// Sampled checks of launches, as lookup and launch see them: who copies and compares is a part that a program may lack (parts.hpp).

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "engine/device/launch_device.hpp"
#include "engine/kernel/kernel_spec.hpp"
#include "hone/launch_check.hpp"

namespace hone {

struct Prepared;

/// Holds launches against the default's, one at a time. Thread-safe.
class LaunchChecks {
 public:
  virtual ~LaunchChecks() = default;
  /// Before a launch on `stream` with `values` (as LoadedKernel::launch takes them): enqueues copies of what it reads, if it is to be
  /// checked. It is not while another one is, in a capture, and as long as memory and the default's code are being prepared or are not to
  /// be had. Of a `prepared` that has `checked`.
  virtual bool begin(const std::shared_ptr<const Prepared>& prepared, void* stream, std::span<void* const> values) = 0;
  /// After that launch, where begin() said true: enqueues copies of what it wrote. The rest is done elsewhere.
  virtual void end(void* stream, std::span<void* const> values, bool launched) = 0;
  /// Waits for the check under way; there are none from now on.
  virtual void stop() = 0;
};

/// Of a prepared problem whose launches are checked.
struct CheckedLaunches {
  std::shared_ptr<LaunchChecks> checks;
  const KernelSpec* spec = nullptr;  ///< lives until the checks are stopped
  std::size_t one_in = 1;
  std::atomic<std::uint64_t> launches{0};
  enum class State : std::uint8_t { kUnprepared, kReady, kNever };
  std::atomic<State> state{State::kUnprepared};
  std::shared_ptr<const Prepared> standard;       ///< the default's, once it is kReady
  std::atomic<const Prepared*> instead{nullptr};  ///< that, once the configuration was found wrong: it is launched in its place
};

struct LaunchCheckRequest {
  std::shared_ptr<LaunchDevice> device;
  double max_error = 0.0;  ///< EngineOptions::max_error
  std::function<void(const LaunchCheck&)> on_check;
  /// The default's for the same problem, not checked itself; null if that is what is served.
  std::function<Result<std::shared_ptr<const Prepared>>(const Prepared& served)> standard;
  /// The configuration was found wrong.
  std::function<void(const Prepared& served, const LaunchCheck& found)> reject;
  std::function<void(const std::string& warning)> warn;
};

}  // namespace hone
