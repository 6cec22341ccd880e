// The device that is none: a session answers from a recorded space instead.
#include <algorithm>
#include <cstdlib>
#include <string>

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
    const int devices = device_count();
    std::vector<DeviceInfo> all(static_cast<std::size_t>(devices), info);
    for (int i = 0; devices > 1 && i < devices; ++i) {
      all[static_cast<std::size_t>(i)].id = "replay:" + std::to_string(i);
    }
    return all;
  }

  [[nodiscard]] Result<std::unique_ptr<Device>> open(const DeviceInfo&) const override { return nothing_runs(); }
  [[nodiscard]] Result<std::unique_ptr<Compiler>> compiler(const DeviceInfo&) const override { return nothing_runs(); }
  [[nodiscard]] Result<std::string> compiler_version() const override { return nothing_runs(); }

 private:
  /// $HONE_REPLAY_DEVICES: how many are simulated side by side; 1 unless it is set to a number above.
  static int device_count() {
    constexpr int kMost = 1024;
    const char* const variable = std::getenv("HONE_REPLAY_DEVICES");
    return variable == nullptr ? 1 : std::clamp(std::atoi(variable), 1, kMost);
  }

  static Error nothing_runs() {
    return {ErrorCode::kUnavailable,
            "replay answers from a recorded space and cannot compile or run a kernel: hone tune FILE.json.gz --device replay"};
  }
};

}  // namespace

std::unique_ptr<DevicePlugin> make_replay_device() { return std::make_unique<ReplayPlugin>(); }

}  // namespace hone
