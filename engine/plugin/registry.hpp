#pragma once
// The devices and strategies of this process, by name. The engine names none of them; the assembled library registers its own.

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/plugin/strategy.hpp"

namespace hone {

/// The names that a shared object registered.
struct LoadedPlugin {
  std::vector<std::string> strategies, devices;
};

class Registry {
 public:
  /// Throws ContractError on a duplicate name.
  void add(std::unique_ptr<DevicePlugin> device);
  void add(std::unique_ptr<StrategyPlugin> strategy);

  /// Records the contents of a file by its canonical path, so that naming a file twice loads it once.
  void add(const std::filesystem::path& file, LoadedPlugin plugin) { files_[file] = std::move(plugin); }

  [[nodiscard]] const std::vector<std::unique_ptr<DevicePlugin>>& devices() const { return devices_; }
  [[nodiscard]] const std::vector<std::unique_ptr<StrategyPlugin>>& strategies() const { return strategies_; }
  [[nodiscard]] const std::map<std::filesystem::path, LoadedPlugin>& files() const { return files_; }

  /// Errors list the known names.
  [[nodiscard]] Result<const StrategyPlugin*> strategy(std::string_view name) const;
  /// "cuda:0", "cpu", or a plugin's name for its first device. Errors: an unknown name, or why that device is missing.
  struct Found {
    const DevicePlugin* plugin = nullptr;
    DeviceInfo info;
    operator FoundDevice() const { return {plugin, info}; }  // NOLINT: the same device, for launching only
  };
  [[nodiscard]] Result<Found> device(std::string_view id) const;
  /// Several for one session: "cuda:0,cuda:1", or "cuda:*" for all of a family; one alone as device() finds it. Errors also: a device that
  /// is named twice; devices of different products.
  [[nodiscard]] Result<std::vector<Found>> devices(std::string_view ids) const;
  /// The best device present: cuda before cpu.
  [[nodiscard]] Result<Found> best_device() const;
  /// devices(), for launching only.
  [[nodiscard]] std::vector<const LaunchPlugin*> launch_plugins() const;

 private:
  [[nodiscard]] Result<Found> found(const FoundDevice& device) const;
  /// All devices of a plugin.
  [[nodiscard]] Result<std::vector<Found>> family(std::string_view name) const;

  std::vector<std::unique_ptr<DevicePlugin>> devices_;
  std::vector<std::unique_ptr<StrategyPlugin>> strategies_;
  std::map<std::filesystem::path, LoadedPlugin> files_;
};

/// Everything built into this binary: a new registry to which plugins can be added, and a constant one.
/// Defined by the assembled library (cmake/HoneTargets.cmake generates it).
Registry make_builtin_registry();
const Registry& builtin_registry();

}  // namespace hone
