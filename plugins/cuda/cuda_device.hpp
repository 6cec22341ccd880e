#pragma once
// One open GPU: memory, loading, timing.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "plugins/cuda/driver.hpp"
#include "plugins/cuda/nvml.hpp"
#include "plugins/cuda/sanitizer.hpp"
#include "plugins/cuda/utilities.hpp"

namespace hone::cuda {

class CudaDevice final : public Device {
 public:
  static Result<std::unique_ptr<Device>> open(const DeviceInfo& info);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override;
  Result<void> upload(void* destination, std::span<const std::byte> source) override;
  Result<void> download(std::span<std::byte> destination, const void* source) override;
  Result<void> copy(void* destination, const void* source, std::size_t bytes) override;
  Result<void> fill(void* destination, std::size_t bytes, std::uint8_t pattern) override;
  Result<void> fill_on(void* stream, void* destination, std::size_t bytes, std::uint8_t pattern) override;
  Result<void> randomize(void* destination, DType dtype, std::size_t count, std::uint64_t seed) override;
  Result<Comparison> compare(const void* actual, DType dtype, const double* expected, std::size_t count, Tolerance tolerance) override;
  Result<std::uint64_t> checksum(const void* source, std::size_t bytes) override;
  Result<std::vector<std::uint64_t>> checksums(std::span<const Region> regions) override;
  Result<double> root_mean_square(const double* values, std::size_t count) override;
  Result<void> spoil(std::span<const Watch> watches, const Spots& spots) override;
  Result<std::uint64_t> unmended(std::span<const Watch> watches, const Spots& spots) override;
  Result<void> paint_shared(std::uint8_t pattern) override;
  Result<std::unique_ptr<LoadedKernel>> load(const Compiled& compiled, const std::vector<PassLaunch>& plan,
                                             const Problem& problem) override;
  Result<std::unique_ptr<LoadedKernel>> load_reference(const Compiled& compiled, const std::vector<PassLaunch>& plan,
                                                       const Problem& problem) override;
  Result<void> synchronize() override;
  Result<void> invert(std::span<const Region> regions, bool late) override;
  Result<TimedRuns> time(const TimeRequest& request) override;
  Result<std::unique_ptr<CallGraph>> graph(const LoadedKernel& kernel, std::span<const GraphCall> calls) override;
  Readings readings() override { return nvml_.readings(); }
  [[nodiscard]] bool sees_bounds() const override { return under_memcheck(); }

  /// What comes before a timed run and after it.
  struct Surroundings {
    std::span<const Preparation> preparations;
    std::span<const Watch> watches;
    std::uint64_t seed = 0;  ///< of the spoiled elements
    bool flush = true;       ///< the L2 holds other things when a run begins
  };
  /// Times `samples` runs of what `run` enqueues.
  Result<TimedRuns> time_each(int samples, const Surroundings& around, const std::function<Result<void>(StreamHandle)>& run);

 private:
  struct EventPair {
    EventHandle begin = nullptr, end = nullptr;
  };
  CudaDevice(DeviceInfo info, std::shared_ptr<PrimaryContext> context);
  Result<void> create_stream_and_events();
  Result<void> check(Status status, std::string_view what) const;
  Result<void> finish(Status enqueued, std::string_view what) const;  ///< waits for the stream
  Result<Utilities*> utilities();
  Result<std::shared_ptr<Library>> library(const Compiled& compiled);
  Result<void> prepare_flush();
  Result<void> enqueue_preparations(const Surroundings& around, const Spots& spots, Utilities& tools);

  DeviceInfo info_;
  std::shared_ptr<PrimaryContext> context_;
  const DriverApi& api_;
  Nvml nvml_;
  StreamHandle stream_ = nullptr;
  std::vector<EventPair> events_;
  std::unique_ptr<Utilities> utilities_;                     ///< made on first use: a machine that only launches needs no NVRTC
  std::unique_ptr<Buffer> flush_;                            ///< zeros, read before a sample so that L2 holds nothing of the arguments
  std::map<std::string, std::weak_ptr<Library>> libraries_;  ///< by artifact digest
};

}  // namespace hone::cuda
