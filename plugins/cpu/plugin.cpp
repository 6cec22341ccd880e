// The `cpu` device: the same kernel file on the host. Every machine can run the main job with it, and a kernel's author gets the host's
// sanitizers and a detector of deadlocks.

#include "plugins/cpu/compiler.hpp"
#include "plugins/cpu/device.hpp"
#include "plugins/cpu/host_compiler.hpp"
#include "plugins/cpu/info.hpp"

namespace hone {
namespace {

class CpuPlugin final : public DevicePlugin {
 public:
  [[nodiscard]] std::string_view name() const override { return "cpu"; }

  /// Always one: what is compiled already can be launched where there is no compiler.
  Result<std::vector<DeviceInfo>> enumerate() const override {
    const Result<cpu::HostCompiler> host = cpu::find_host_compiler();
    return std::vector<DeviceInfo>{cpu::describe_host(host ? host->version : "none")};
  }

  Result<std::string> compiler_version() const override {
    HONE_ASSIGN(const cpu::HostCompiler host, cpu::find_host_compiler());
    return host.version + " (" + host.path + ")";
  }

  Result<std::unique_ptr<Device>> open(const DeviceInfo& info) const override { return cpu::make_device(info); }

  Result<std::unique_ptr<Compiler>> compiler(const DeviceInfo& /*info*/) const override {
    HONE_ASSIGN(cpu::HostCompiler host, cpu::find_host_compiler());
    return cpu::make_compiler(std::move(host));
  }
};

}  // namespace

std::unique_ptr<DevicePlugin> make_cpu_device() { return std::make_unique<CpuPlugin>(); }

}  // namespace hone
