#pragma once
// What the host says about itself.

#include <string>

#include "engine/device/device.hpp"

namespace hone::cpu {

/// `compiler` is the host compiler's version, or "none".
DeviceInfo describe_host(const std::string& compiler);

}  // namespace hone::cpu
