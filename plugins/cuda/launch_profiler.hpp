#pragma once
// Reads the counters of a launch with CUPTI's range profiler. Each kernel of the launch is a range; the launch is repeated by Hone itself,
// which restores its arguments and empties the caches before each run, as for a timed one.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/counters.hpp"
#include "plugins/cuda/cupti.hpp"
#include "plugins/cuda/driver.hpp"
#include "plugins/cuda/metrics.hpp"

namespace hone::cuda {

/// Of one context. Once it was made, launches of the process may be slower: not for a process that times.
class LaunchProfiler {
 public:
  struct Target {
    ContextHandle context = nullptr;
    DeviceOrdinal device = 0;
  };
  /// Prepares the counters that the chip has. Errors, kUnavailable: CUPTI is missing, or what refused (cupti_error).
  static Result<std::unique_ptr<LaunchProfiler>> open(const Target& target);
  ~LaunchProfiler();
  LaunchProfiler(const LaunchProfiler&) = delete;
  LaunchProfiler& operator=(const LaunchProfiler&) = delete;

  /// What runs, each time after the other has ended.
  struct Run {
    std::function<Result<void>()> prepare;  ///< is not counted
    std::function<Result<void>()> launch;   ///< waits until the device is done
  };
  /// Runs as often as the counters need. Errors: those of the run; kUnavailable, what refused.
  Result<Counters> count(const Run& run);

  /// How many kernels of a launch are looked at.
  static constexpr std::size_t kMostKernels = 64;

 private:
  LaunchProfiler(const Cupti& library, const Target& target) : library_(library), api_(library.api), target_(target) {}
  Result<void> check(CuptiStatus status, std::string_view call) const;
  Result<void> find_chip();
  Result<void> start_host();
  void end_host();
  Result<void> choose_metrics();
  Result<bool> configure();
  Result<void> enable();
  Result<std::vector<std::vector<double>>> evaluate();
  [[nodiscard]] std::vector<const char*> names() const;

  const Cupti& library_;
  const CuptiApi& api_;
  Target target_;
  std::string chip_;
  std::vector<std::uint8_t> availability_, config_, data_;
  std::vector<Metric> metrics_;
  std::size_t passes_ = 0;
  CuptiHost host_ = nullptr;
  CuptiRange range_ = nullptr;
};

}  // namespace hone::cuda
