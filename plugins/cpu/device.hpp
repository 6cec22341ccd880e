#pragma once
// The open cpu device.

#include <memory>

#include "engine/device/device.hpp"

namespace hone::cpu {

std::unique_ptr<Device> make_device(const DeviceInfo& info);

}  // namespace hone::cpu
