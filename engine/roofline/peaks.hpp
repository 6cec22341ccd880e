#pragma once
// What a device can do at most, as far as small kernels reach it, and how far below that a kernel is.

#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plugin/registry.hpp"
#include "engine/store/store.hpp"

namespace hone::roofline {

/// One of the things that limit a kernel.
struct Limit {
  std::string_view name;  ///< "memory", "l2", "shared", "f32", "bf16", "f16"
  std::string_view what;  ///< for people
  bool is_bytes = false;  ///< bytes per second; else floating-point operations
};
std::span<const Limit> limits();

struct Peak {
  const Limit* limit = nullptr;
  double per_second = 0.0;    ///< bytes or operations
  std::string kernel;         ///< that reached it
  std::string configuration;  ///< of that kernel
  std::string created_at;     ///< UTC, ISO 8601
};

struct MeasureRequest {
  Registry::Found device;
  const Registry* registry = nullptr;
  std::function<void(const std::string&)> on_progress = {};  ///< called with the kernel that runs next
  std::stop_token stop = {};
};

struct MeasuredPeaks {
  std::vector<Peak> peaks;
  std::vector<std::string> failures;  ///< of probes that could not be measured: which, and why
};

/// Tunes the probes that come with Hone, and copy, for a few trials each: their records are the device's peaks. What a device does not
/// have (tensor cores) is left out. Errors: no worker, a failing store,
/// kCancelled.
Result<MeasuredPeaks> measure_peaks(const MeasureRequest& request, Store& store);

/// Of all measurements that the store has of such a device, the highest of each limit. Those of other versions of the probes do not count,
/// nor what was withdrawn.
Result<std::vector<Peak>> find_peaks(const DeviceInfo& device, Store& store);

/// How far a kernel is from what the device allows.
struct Place {
  Peak peak;              ///< what limits it: which alone would take longest
  double share = 0.0;     ///< of the peak that it reaches; above 1 where caches spare it memory
  double least_us = 0.0;  ///< that the limit alone would take
};

/// Of a kernel that does so many operations on this type and moves so many bytes from and to memory, in so many microseconds. Nothing where
/// no cost is known, or no peak for it. Operations on types without a peak count as f32's.
std::optional<Place> place(double flops, double bytes, DType dtype, double us, std::span<const Peak> peaks);

/// The same by the kernel's own cost for the problem.
std::optional<Place> place_of(const KernelSpec& spec, const Problem& problem, double us, std::span<const Peak> peaks);

/// "4.12 TB/s", "61.3 TFLOP/s".
std::string rate_text(const Peak& peak);
/// "71.2 % of memory bandwidth (4.12 TB/s measured)".
std::string text(const Place& place);

}  // namespace hone::roofline
