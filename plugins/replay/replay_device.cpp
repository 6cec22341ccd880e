// The device that is none: a session answers from a recorded space instead.
#include "engine/device/device.hpp"

namespace hone {
namespace {

class ReplayPlugin final : public DevicePlugin {
 public:
  [[nodiscard]] std::string_view name() const override { return "replay"; }

  [[nodiscard]] Result<std::vector<DeviceInfo>> enumerate() const override {
    DeviceInfo info;
    info.id = "replay";
    info.plugin = "replay";
    info.product = "recorded space";
    for (const std::string_view property : device_property_names()) {
      info.properties.emplace(property, 0);
    }
    return std::vector{std::move(info)};
  }

  [[nodiscard]] Result<std::unique_ptr<Device>> open(const DeviceInfo&) const override { return nothing_runs(); }
  [[nodiscard]] Result<std::unique_ptr<Compiler>> compiler(const DeviceInfo&) const override { return nothing_runs(); }
  [[nodiscard]] Result<std::string> compiler_version() const override { return nothing_runs(); }

 private:
  static Error nothing_runs() {
    return {ErrorCode::kUnavailable,
            "replay answers from a recorded space and cannot compile or run a kernel: hone tune FILE.json.gz --device replay"};
  }
};

}  // namespace

std::unique_ptr<DevicePlugin> make_replay_device() { return std::make_unique<ReplayPlugin>(); }

}  // namespace hone
