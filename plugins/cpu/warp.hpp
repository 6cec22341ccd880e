#pragma once
// The lanes of one warp that wait for each other, and what they exchange.

#include <array>
#include <cstdint>

#include "plugins/cpu/kernel_abi.hpp"

namespace hone::cpu {

constexpr unsigned kWarpLanes = 32;

/// What one lane brings to an exchange, and after it what the lane gets.
struct LaneExchange {
  std::uint64_t value = 0;
  unsigned operand = 0, width = kWarpLanes;
};

/// Lanes that named the same mask for the same operation. Several groups wait at once where a warp has diverged.
struct WarpGroup {
  unsigned mask = 0, arrived = 0;
  HoneCpuWarpOperation operation = kHoneCpuSync;
};

struct Warp {
  unsigned ended = 0;  ///< lanes that have returned, or that the block does not have
  unsigned group_count = 0;
  std::array<WarpGroup, kWarpLanes> groups;
  std::array<LaneExchange, kWarpLanes> lanes;
};

/// Gives each lane that has arrived its result, by the rules of CUDA.
void exchange(Warp& warp, const WarpGroup& group);

}  // namespace hone::cpu
