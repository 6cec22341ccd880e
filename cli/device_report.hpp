#pragma once
// What a session's devices did.

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "engine/tune/device_shares.hpp"

namespace hone::cli {

Json json(const std::vector<DeviceShare>& devices);
/// A table; empty for one device, of which there is nothing to compare.
std::string devices_text(const std::vector<DeviceShare>& devices);

}  // namespace hone::cli
