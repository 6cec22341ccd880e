// The `cpu` device: the same kernel file on the host. Every machine can run the main job with it, and a kernel's author gets the host's
// sanitizers and a detector of deadlocks.

#include "plugins/cpu/compiler.hpp"
#include "plugins/cpu/device.hpp"
#include "plugins/cpu/host_compiler.hpp"
#include "plugins/cpu/info.hpp"
#include "plugins/cpu/sanitizer.hpp"

namespace hone {
namespace {

class CpuPlugin final : public DevicePlugin {
 public:
  [[nodiscard]] std::string_view name() const override { return "cpu"; }

  /// At least one: what is compiled already can be launched where there is no compiler.
  Result<std::vector<DeviceInfo>> enumerate() const override {
    const Result<cpu::HostCompiler> host = cpu::find_host_compiler();
    return cpu::describe_host(host ? cpu::compiler_identity(*host, cpu::sanitize_requested()) : "none");
  }
  [[nodiscard]] std::vector<int> cores_near(const DeviceInfo& info) const override { return cpu::cores_of(info); }

  Result<std::string> compiler_version() const override {
    HONE_ASSIGN(const cpu::HostCompiler host, cpu::find_host_compiler());
    return host.version + " (" + host.path + ")";
  }

  Result<std::unique_ptr<Device>> open(const DeviceInfo& info) const override { return cpu::make_device(info); }

  Result<std::unique_ptr<Compiler>> compiler(const DeviceInfo& info) const override {
    HONE_ASSIGN(cpu::HostCompiler host, cpu::find_host_compiler());
    return cpu::make_compiler(std::move(host), cpu::is_sanitized(info) || cpu::sanitize_requested());
  }

  [[nodiscard]] std::vector<std::string> sanitizers() const override { return {std::string(cpu::kSanitizerName)}; }
  Result<Sanitizer> sanitizer(const DeviceInfo& info, std::string_view wanted, const std::filesystem::path& log) const override {
    if (wanted != cpu::kSanitizerName) {
      return DevicePlugin::sanitizer(info, wanted, log);
    }
    HONE_ASSIGN(const cpu::HostCompiler host, cpu::find_host_compiler());
    return cpu::host_sanitizer(host, info, log);
  }
  [[nodiscard]] std::string finding(std::string_view log) const override { return cpu::read_finding(log); }
};

}  // namespace

std::unique_ptr<DevicePlugin> make_cpu_device() { return std::make_unique<CpuPlugin>(); }

}  // namespace hone
