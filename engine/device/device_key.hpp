#pragma once
// What records are kept under of a device, and whether two devices share them.

#include <cstdint>
#include <map>
#include <string>

#include "hone/device_info.hpp"

namespace hone {

/// The properties as a key has them: memory in whole GiB, since what a driver or a kernel keeps for itself changes with its version, and
/// the version is no part of a key.
std::map<std::string, std::int64_t, std::less<>> keyed_properties(const DeviceInfo& info);

/// What keeps the devices from using the same records, for people: "an NVIDIA A100 and an NVIDIA H200"; empty if nothing does.
std::string difference(const DeviceInfo& one, const DeviceInfo& other);

}  // namespace hone
