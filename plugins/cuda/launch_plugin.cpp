// The cuda device for programs that only launch: no compiler, nothing that measures.
#include "plugins/cuda/device_info.hpp"
#include "plugins/cuda/launch_device.hpp"

namespace hone {
namespace cuda {
namespace {

class CudaLaunchPlugin final : public LaunchPlugin {
 public:
  [[nodiscard]] std::string_view name() const override { return "cuda"; }
  Result<std::vector<DeviceInfo>> enumerate() const override { return describe_devices(); }
  Result<std::unique_ptr<LaunchDevice>> open_to_launch(const DeviceInfo& info) const override {
    HONE_ASSIGN(std::unique_ptr<CudaLaunchDevice> device, CudaLaunchDevice::open(info));
    return std::unique_ptr<LaunchDevice>(std::move(device));
  }
  [[nodiscard]] std::vector<const LibraryKernel*> libraries() const override { return cuda::libraries(); }
};

}  // namespace
}  // namespace cuda

std::unique_ptr<LaunchPlugin> make_cuda_launch_device() { return std::make_unique<cuda::CudaLaunchPlugin>(); }

}  // namespace hone
