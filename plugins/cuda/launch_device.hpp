#pragma once
// One open GPU as those see it who only launch: memory and loading.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/device/launch_device.hpp"
#include "plugins/cuda/driver.hpp"
#include "plugins/cuda/library_kernel.hpp"

namespace hone::cuda {

/// A pointer to device memory as the driver takes it.
inline Address address_of(const void* pointer) { return static_cast<Address>(reinterpret_cast<std::uintptr_t>(pointer)); }

class CudaLaunchDevice final : public LaunchDevice {
 public:
  static Result<std::unique_ptr<CudaLaunchDevice>> open(const DeviceInfo& info);
  ~CudaLaunchDevice() override;
  CudaLaunchDevice(const CudaLaunchDevice&) = delete;
  CudaLaunchDevice& operator=(const CudaLaunchDevice&) = delete;

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override;
  Result<void> upload(void* destination, std::span<const std::byte> source) override;
  Result<void> download(std::span<std::byte> destination, const void* source) override;
  Result<void> copy(void* destination, const void* source, std::size_t bytes) override;
  Result<void> fill(void* destination, std::size_t bytes, std::uint8_t pattern) override;
  Result<void> fill_on(void* stream, void* destination, std::size_t bytes, std::uint8_t pattern) override;
  Result<std::unique_ptr<LoadedKernel>> load(const Compiled& compiled, const std::vector<PassLaunch>& plan,
                                             const Problem& problem) override;
  Result<void> synchronize() override;
  [[nodiscard]] bool loads_in_parallel() const override { return true; }
  [[nodiscard]] Lane lane_of(void* stream) const override;
  Result<void> keep_with_graph(void* stream, std::shared_ptr<void> object) const override;
  Result<void> copy_on(void* stream, void* destination, const void* source, std::size_t bytes) override;
  Result<std::unique_ptr<SideStream>> side_stream() override;

  [[nodiscard]] const std::shared_ptr<PrimaryContext>& context() const { return context_; }
  /// What the operations on memory run on.
  [[nodiscard]] StreamHandle stream() const { return stream_; }
  Result<void> check(Status status, std::string_view what) const;
  /// Waits for the stream.
  Result<void> finish(Status enqueued, std::string_view what) const;

 private:
  CudaLaunchDevice(DeviceInfo info, std::shared_ptr<PrimaryContext> context);
  Result<std::shared_ptr<Library>> library(const Compiled& compiled);
  Result<std::unique_ptr<LoadedKernel>> load_from_library(const LibraryCode& code, const Compiled& compiled, const PassLaunch& pass,
                                                          const Problem& problem);
  struct Capture {
    std::uint64_t id = 0;  ///< 0: the stream is not being captured
    GraphHandle graph = nullptr;
  };
  [[nodiscard]] Capture capture_of(void* stream) const;

  DeviceInfo info_;
  std::shared_ptr<PrimaryContext> context_;
  const DriverApi& api_;
  StreamHandle stream_ = nullptr;
  std::mutex libraries_mutex_;
  std::map<std::string, std::weak_ptr<Library>> libraries_;  ///< by artifact digest
  std::map<const CudaLibraryKernel*, std::shared_ptr<LibrarySession>> sessions_;
};

}  // namespace hone::cuda
