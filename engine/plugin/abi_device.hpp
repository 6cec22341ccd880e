#pragma once
// A plugin's open device.

#include <memory>

#include "engine/device/device.hpp"
#include "hone/plugin.h"

namespace hone::plugin_host {

Result<std::unique_ptr<Device>> open_device(const hone_device& table, const DeviceInfo& info);

}  // namespace hone::plugin_host
