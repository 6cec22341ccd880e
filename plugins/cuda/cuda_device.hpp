#pragma once
// One open GPU: memory, loading, timing.

#include <functional>
#include <memory>
#include <vector>

#include "engine/device/device.hpp"
#include "plugins/cuda/launch_device.hpp"
#include "plugins/cuda/launch_profiler.hpp"
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
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override { return launcher_->allocate(bytes); }
  Result<void> upload(void* destination, std::span<const std::byte> source) override { return launcher_->upload(destination, source); }
  Result<void> download(std::span<std::byte> destination, const void* source) override { return launcher_->download(destination, source); }
  Result<void> copy(void* destination, const void* source, std::size_t bytes) override {
    return launcher_->copy(destination, source, bytes);
  }
  Result<void> fill(void* destination, std::size_t bytes, std::uint8_t pattern) override {
    return launcher_->fill(destination, bytes, pattern);
  }
  Result<void> fill_on(void* stream, void* destination, std::size_t bytes, std::uint8_t pattern) override {
    return launcher_->fill_on(stream, destination, bytes, pattern);
  }
  Result<std::unique_ptr<LoadedKernel>> load(const Compiled& compiled, const std::vector<PassLaunch>& plan,
                                             const Problem& problem) override {
    return launcher_->load(compiled, plan, problem);
  }
  Result<void> synchronize() override { return launcher_->synchronize(); }
  Result<void> randomize(void* destination, DType dtype, std::size_t count, std::uint64_t seed) override;
  Result<Comparison> compare(const void* actual, DType dtype, const double* expected, std::size_t count, Tolerance tolerance) override;
  Result<std::uint64_t> checksum(const void* source, std::size_t bytes) override;
  Result<std::vector<std::uint64_t>> checksums(std::span<const Region> regions) override;
  Result<double> root_mean_square(const double* values, std::size_t count) override;
  Result<void> spoil(std::span<const Watch> watches, const Spots& spots) override;
  Result<std::uint64_t> unmended(std::span<const Watch> watches, const Spots& spots) override;
  Result<void> paint_shared(std::uint8_t pattern) override;
  Result<std::unique_ptr<LoadedKernel>> load_reference(const Compiled& compiled, const std::vector<PassLaunch>& plan,
                                                       const Problem& problem) override;
  Result<void> invert(std::span<const Region> regions, bool late) override;
  Result<TimedRuns> time(const TimeRequest& request) override;
  Result<std::unique_ptr<CallGraph>> graph(const LoadedKernel& kernel, std::span<const GraphCall> calls) override;
  Result<Counters> count(const TimeRequest& request) override;
  Readings readings() override { return nvml_.readings(); }
  Result<EnergyReading> energy() override;
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
  explicit CudaDevice(std::unique_ptr<CudaLaunchDevice> launcher);
  Result<void> create_events();
  Result<void> check(Status status, std::string_view what) const { return launcher_->check(status, what); }
  Result<void> finish(Status enqueued, std::string_view what) const { return launcher_->finish(enqueued, what); }
  Result<Utilities*> utilities();
  Result<void> prepare_flush();
  Result<void> enqueue_preparations(const Surroundings& around, const Spots& spots, Utilities& tools);

  std::unique_ptr<CudaLaunchDevice> launcher_;  ///< first: it goes last
  const DeviceInfo& info_;
  std::shared_ptr<PrimaryContext> context_;
  const DriverApi& api_;
  Nvml nvml_;
  StreamHandle stream_;
  std::vector<EventPair> events_;
  std::unique_ptr<LaunchProfiler> profiler_;  ///< made when counters are first asked for
  std::unique_ptr<Utilities> utilities_;      ///< made on first use: a machine that only launches needs no NVRTC
  std::unique_ptr<Buffer> flush_;             ///< zeros, read before a sample so that L2 holds nothing of the arguments
};

}  // namespace hone::cuda
