#pragma once
// Device::spoil and Device::unmended by way of the host, for devices that have no code of their own for it.

#include "engine/device/device.hpp"

namespace hone::measure {

Result<void> spoil_by_host(Device& device, std::span<const Watch> watches, const Spots& spots);
Result<std::uint64_t> unmended_by_host(Device& device, std::span<const Watch> watches, const Spots& spots);
Result<double> root_mean_square_by_host(Device& device, const double* values, std::size_t count);

/// How far `actual` is from `expected`, as a share of what is allowed: right if it is 1 at most. A NaN on either side never is, an infinity
/// only where it was expected. Never above the largest double.
double error_share(double actual, double expected, double allowed);

}  // namespace hone::measure
