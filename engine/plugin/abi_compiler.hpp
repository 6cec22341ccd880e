#pragma once
// A plugin's compiler.

#include <memory>

#include "engine/device/device.hpp"
#include "hone/plugin.h"

namespace hone::plugin_host {

Result<std::unique_ptr<Compiler>> create_compiler(const hone_device& table, const DeviceInfo& info);

}  // namespace hone::plugin_host
