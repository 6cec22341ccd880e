#include "engine/device/device.hpp"

#include <fmt/format.h>

#include "hone/random.h"

namespace hone {

void DevicePlugin::prepare_to_measure(const DeviceInfo& /*info*/) const {}

Result<DeviceInfo> DevicePlugin::typical(std::string_view architecture) const {
  return Error{ErrorCode::kUnavailable, fmt::format("{} compiles only for devices of this machine, not for '{}'", name(), architecture)};
}

Result<Sanitizer> DevicePlugin::sanitizer(const DeviceInfo& info, std::string_view wanted, const std::filesystem::path& /*log*/) const {
  return Error{ErrorCode::kUnavailable, fmt::format("the devices of {} have no sanitizer '{}' for {}", name(), wanted, info.id)};
}

std::vector<int> DevicePlugin::cores_near(const DeviceInfo& /*info*/) const { return {}; }

Result<std::unique_ptr<LaunchDevice>> DevicePlugin::open_to_launch(const DeviceInfo& info) const {
  HONE_ASSIGN(std::unique_ptr<Device> device, open(info));
  return std::unique_ptr<LaunchDevice>(std::move(device));
}

Result<std::unique_ptr<CallGraph>> Device::graph(const LoadedKernel& /*kernel*/, std::span<const GraphCall> /*calls*/) {
  return Error{ErrorCode::kUnavailable, "device " + info().id + " has no graphs of calls"};
}

Result<Counters> Device::count(const TimeRequest& /*request*/) {
  return Error{ErrorCode::kUnavailable, "device " + info().id + " has no counters that Hone can read"};
}

Result<EnergyReading> Device::energy() { return Error{ErrorCode::kUnavailable, "device " + info().id + " has no energy counter"}; }

Result<void> DevicePlugin::check_energy_counter(const DeviceInfo& info) const {
  return Error{ErrorCode::kUnavailable, fmt::format("device {} has no energy counter: --objective time and percentiles of time (p99) need "
                                                    "none",
                                                    info.id)};
}

Spots spots_of_run(std::uint64_t seed, std::uint64_t run) {
  // Every element of small outputs, of large ones enough to see what leaves a thousandth of its work undone: the traffic is that of half a
  // mebibyte. In other runs fewer, so that most of what a kernel could look at to see whether it has been here is right.
  constexpr std::size_t kMostSpots = std::size_t{1} << 14;
  const std::uint64_t drawn = random_bits(seed, run);
  return {drawn, kMostSpots >> (2 * (drawn % 4))};
}

std::uint8_t fill_pattern(Preparation::Kind kind, std::uint64_t seed) {
  // Neither 0, which a kernel may hope for, nor all bits one.
  return kind == Preparation::Kind::kZero ? std::uint8_t{0} : static_cast<std::uint8_t>(1 + random_bits(seed, 0) % 254);
}

Result<std::vector<std::uint64_t>> Device::checksums(std::span<const Region> regions) {
  std::vector<std::uint64_t> sums;
  for (const Region& region : regions) {
    HONE_ASSIGN(const std::uint64_t sum, checksum(region.address, region.bytes));
    sums.push_back(sum);
  }
  return sums;
}

Result<void> Device::paint_shared(std::uint8_t /*pattern*/) { return {}; }

Result<void> Device::invert(std::span<const Region> /*regions*/, bool /*late*/) {
  return Error{ErrorCode::kUnavailable, "on device " + info().id + " kernels do not overlap"};
}

}  // namespace hone
