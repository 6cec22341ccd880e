#include "engine/roofline/occupancy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hone::roofline {
namespace {

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kRegisterUnit = 256;  // registers of a warp are given in pieces of so many
constexpr std::int64_t kQuarters = 4;        // of a multiprocessor, each with its own registers, to which warps are dealt
constexpr std::int64_t kSharedUnit = 128;    // bytes, since compute capability 8.0
constexpr std::int64_t kSharedUnitBefore = 256;
constexpr std::int64_t kReservedShared = 1024;  // of each block, for the system, since compute capability 8.0

std::int64_t up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

/// CUDA programming guide, technical specifications by compute capability.
std::int64_t most_blocks(std::int64_t capability) {
  switch (capability) {
    case 75:
    case 86:
    case 87:
      return 16;
    case 89:
    case 120:
    case 121:
      return 24;
    default:
      return 32;
  }
}

}  // namespace

std::string_view name(OccupancyLimit limit) {
  switch (limit) {
    case OccupancyLimit::kThreads:
      return "threads";
    case OccupancyLimit::kBlocks:
      return "blocks";
    case OccupancyLimit::kRegisters:
      return "registers";
    case OccupancyLimit::kSharedMemory:
      return "shared memory";
    case OccupancyLimit::kClusters:
      return "clusters";
  }
  return "";
}

std::optional<Occupancy> occupancy(const BlockNeeds& block, const DeviceInfo& device) {
  const auto property = [&](const char* name) {
    const auto found = device.properties.find(name);
    return found == device.properties.end() ? std::int64_t{0} : found->second;
  };
  const std::int64_t capability = property("compute_capability");
  if (capability < 70 || block.threads <= 0) {
    return std::nullopt;
  }
  const std::int64_t warps = (block.threads + kWarp - 1) / kWarp;
  Occupancy result;
  result.most = property("threads_per_multiprocessor") / kWarp;
  const bool reserves = capability >= 80;
  const std::int64_t shared = up(block.shared_bytes + (reserves ? kReservedShared : 0), reserves ? kSharedUnit : kSharedUnitBefore);
  std::int64_t by_registers = most_blocks(capability);
  if (block.registers > 0) {
    const std::int64_t of_a_warp = up(block.registers * kWarp, kRegisterUnit);
    by_registers = property("registers_per_multiprocessor") / kQuarters / of_a_warp * kQuarters / warps;
  }
  const std::array allowed{std::pair(OccupancyLimit::kThreads, result.most / warps),
                           std::pair(OccupancyLimit::kBlocks, most_blocks(capability)), std::pair(OccupancyLimit::kRegisters, by_registers),
                           std::pair(OccupancyLimit::kSharedMemory,
                                     shared == 0 ? most_blocks(capability) : property("shared_memory_per_multiprocessor") / shared)};
  result.blocks = std::ranges::min(allowed, {}, [](const auto& one) { return one.second; }).second;
  for (const auto& [limit, blocks] : allowed) {
    if (blocks == result.blocks &&
        (limit == OccupancyLimit::kThreads || limit == OccupancyLimit::kBlocks || blocks < most_blocks(capability))) {
      result.limits.push_back(limit);
    }
  }
  if (block.cluster > 1 && result.blocks == 0) {
    result.limits.push_back(OccupancyLimit::kClusters);
  }
  result.warps = result.blocks * warps;
  result.share = result.most > 0 ? static_cast<double>(result.warps) / static_cast<double>(result.most) : 0.0;
  return result;
}

std::optional<Occupancy> occupancy(const std::vector<PassLaunch>& plan, const Resources& resources, const DeviceInfo& device) {
  std::optional<Occupancy> lowest;
  for (const PassLaunch& pass : plan) {
    const std::optional<Occupancy> one = occupancy({.threads = pass.block[0] * pass.block[1] * pass.block[2],
                                                    .registers = resources.registers,
                                                    .shared_bytes = plan.size() == 1 ? resources.shared_bytes : pass.shared_bytes,
                                                    .cluster = pass.cluster[0] * pass.cluster[1] * pass.cluster[2]},
                                                   device);
    if (one && (!lowest || one->share < lowest->share)) {
      lowest = one;
    }
  }
  return lowest;
}

std::string text(const Occupancy& occupancy) {
  std::string limits;
  for (const OccupancyLimit limit : occupancy.limits) {
    limits += fmt::format("{}{}", limits.empty() ? "" : ", ", name(limit));
  }
  return fmt::format("{} of {} warps in {} block{} (limited by {})", occupancy.warps, occupancy.most, occupancy.blocks,
                     occupancy.blocks == 1 ? "" : "s", limits);
}

}  // namespace hone::roofline
