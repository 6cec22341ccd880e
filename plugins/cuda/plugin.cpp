// The cuda device plugin: NVIDIA GPUs through the driver and NVRTC, both opened at run time.
#include <fmt/format.h>

#include "plugins/cuda/compiler.hpp"
#include "plugins/cuda/cuda_device.hpp"
#include "plugins/cuda/device_info.hpp"
#include "plugins/cuda/launch_device.hpp"
#include "plugins/cuda/library_kernel.hpp"
#include "plugins/cuda/sanitizer.hpp"

namespace hone {
namespace cuda {
namespace {

class CudaPlugin final : public DevicePlugin {
 public:
  [[nodiscard]] std::string_view name() const override { return "cuda"; }
  Result<std::vector<DeviceInfo>> enumerate() const override {
    HONE_ASSIGN(std::vector<DeviceInfo> devices, describe_devices());
    if (const Result<const Nvrtc*> compiler = nvrtc()) {
      for (DeviceInfo& info : devices) {
        info.environment["compiler"] = "NVRTC " + (*compiler)->version_text();
      }
    }
    return devices;
  }
  Result<DeviceInfo> typical(std::string_view architecture) const override { return typical_device(architecture); }
  Result<std::unique_ptr<Device>> open(const DeviceInfo& info) const override { return CudaDevice::open(info); }
  Result<std::unique_ptr<LaunchDevice>> open_to_launch(const DeviceInfo& info) const override {
    HONE_ASSIGN(std::unique_ptr<CudaLaunchDevice> device, CudaLaunchDevice::open(info));
    return std::unique_ptr<LaunchDevice>(std::move(device));
  }
  [[nodiscard]] std::vector<int> cores_near(const DeviceInfo& info) const override { return cuda::cores_near(info); }
  Result<void> check_energy_counter(const DeviceInfo& info) const override { return cuda::check_energy_counter(info); }
  void prepare_to_measure(const DeviceInfo& info) const override { static_cast<void>(utility_code(info.architecture).ok()); }

  Result<std::unique_ptr<Compiler>> compiler(const DeviceInfo& info) const override {
    HONE_ASSIGN(const Nvrtc* found, nvrtc());
    return std::unique_ptr<Compiler>(std::make_unique<CudaCompiler>(*found, info.architecture, has_lines(info)));
  }

  [[nodiscard]] std::vector<const LibraryKernel*> libraries() const override { return cuda::libraries(); }

  [[nodiscard]] std::vector<std::string> sanitizers() const override { return compute_sanitizer_tools(); }
  Result<Sanitizer> sanitizer(const DeviceInfo& info, std::string_view wanted, const std::filesystem::path& log) const override {
    return compute_sanitizer(info, wanted, log);
  }
  [[nodiscard]] std::string finding(std::string_view log) const override { return read_finding(log); }

  Result<std::string> compiler_version() const override {
    HONE_ASSIGN(const Nvrtc* found, nvrtc());
    return fmt::format("NVRTC {} ({})", found->version_text(), found->path);
  }
};

}  // namespace
}  // namespace cuda

std::unique_ptr<DevicePlugin> make_cuda_device() { return std::make_unique<cuda::CudaPlugin>(); }

}  // namespace hone
