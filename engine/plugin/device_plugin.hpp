#pragma once
// Wraps a plugin's table of device functions as a DevicePlugin.

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "engine/device/device.hpp"
#include "hone/plugin.h"

namespace hone::plugin_host {

/// `version` is the plugin's name and version, `file` its shared object. Throws ContractError if the table lacks a name or a
/// function. `timeout`, if set, limits enumeration.
std::unique_ptr<DevicePlugin> make_device_plugin(const hone_device* table, std::string version, std::filesystem::path file,
                                                 std::optional<std::chrono::milliseconds> timeout);

}  // namespace hone::plugin_host
