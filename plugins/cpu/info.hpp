#pragma once
// What the host says about itself.

#include <string>
#include <vector>

#include "engine/device/device.hpp"

namespace hone::cpu {

/// One device, or as many as HONE_CPU_DEVICES says, among which the cores are divided. `compiler` is the host compiler's version, or
/// "none".
std::vector<DeviceInfo> describe_host(const std::string& compiler);

/// The cores of one of several devices, by their numbers; empty: all of the host's.
std::vector<int> cores_of(const DeviceInfo& info);

}  // namespace hone::cpu
