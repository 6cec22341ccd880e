#pragma once
// Host implementations of optional device functions, through upload and download in pieces.

#include "engine/device/device.hpp"

namespace hone::plugin_host {

Result<void> copy_by_host(Device& device, void* destination, const void* source, std::size_t bytes);
Result<void> fill_by_host(Device& device, void* destination, std::size_t bytes, std::uint8_t pattern);
Result<void> randomize_by_host(Device& device, void* destination, DType dtype, std::size_t count, std::uint64_t seed);
Result<Comparison> compare_by_host(Device& device, const void* actual, DType dtype, const double* expected, std::size_t count,
                                   Tolerance tolerance);
Result<std::uint64_t> checksum_by_host(Device& device, const void* source, std::size_t bytes);

/// Flushes caches by writing memory twice their size.
class FlushByFill {
 public:
  Result<void> flush(Device& device);

 private:
  std::unique_ptr<Buffer> memory_;
};

/// What the request wants done before a run.
Result<void> prepare_run(Device& device, std::span<const Preparation> preparations, std::span<const Watch> watches, const Spots& spots);

/// By the host's clock, around launch and synchronize.
Result<TimedRuns> time_by_host(Device& device, FlushByFill& cache, const TimeRequest& request);

}  // namespace hone::plugin_host
