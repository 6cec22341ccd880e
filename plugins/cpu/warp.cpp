#include "plugins/cpu/warp.hpp"

#include <algorithm>
#include <bit>

namespace hone::cpu {
namespace {

/// The lane a shuffle reads, as PTX defines shfl: segments of `width` lanes, operands modulo 32, and a lane reads itself where the
/// source would leave its segment (upwards; xor may reach down into an earlier segment).
unsigned source_lane(HoneCpuWarpOperation operation, unsigned lane, unsigned operand, unsigned width) {
  const unsigned segment = ~(width - 1) & (kWarpLanes - 1);
  const unsigned first = lane & segment, last = first | (~segment & (kWarpLanes - 1));
  operand &= kWarpLanes - 1;
  switch (operation) {
    case kHoneCpuShuffleUp:
      return lane >= first + operand ? lane - operand : lane;
    case kHoneCpuShuffleDown:
      return lane + operand <= last ? lane + operand : lane;
    case kHoneCpuShuffleXor:
      return (lane ^ operand) <= last ? lane ^ operand : lane;
    default:
      return first | (operand & ~segment);
  }
}

unsigned combine(HoneCpuWarpOperation operation, unsigned a, unsigned b) {
  switch (operation) {
    case kHoneCpuAdd:
      return a + b;
    case kHoneCpuMinSigned:
      return static_cast<unsigned>(std::min(static_cast<int>(a), static_cast<int>(b)));
    case kHoneCpuMaxSigned:
      return static_cast<unsigned>(std::max(static_cast<int>(a), static_cast<int>(b)));
    case kHoneCpuMinUnsigned:
      return std::min(a, b);
    case kHoneCpuMaxUnsigned:
      return std::max(a, b);
    case kHoneCpuAnd:
      return a & b;
    case kHoneCpuOr:
      return a | b;
    default:
      return a ^ b;
  }
}

template <class Visit>
void each_lane(unsigned lanes, Visit&& visit) {
  for (; lanes != 0; lanes &= lanes - 1) {
    visit(static_cast<unsigned>(std::countr_zero(lanes)));
  }
}

void shuffle(Warp& warp, const WarpGroup& group) {
  std::array<std::uint64_t, kWarpLanes> results;
  each_lane(group.arrived, [&](unsigned lane) {
    const unsigned source = source_lane(group.operation, lane, warp.lanes[lane].operand, warp.lanes[lane].width);
    results[lane] = ((group.arrived >> source) & 1U) != 0 ? warp.lanes[source].value : ~std::uint64_t{0};
  });
  each_lane(group.arrived, [&](unsigned lane) { warp.lanes[lane].value = results[lane]; });
}

void match_any(Warp& warp, const WarpGroup& group) {
  std::array<std::uint64_t, kWarpLanes> results{};
  each_lane(group.arrived, [&](unsigned lane) {
    each_lane(group.arrived, [&](unsigned other) {
      results[lane] |= static_cast<std::uint64_t>(warp.lanes[other].value == warp.lanes[lane].value) << other;
    });
  });
  each_lane(group.arrived, [&](unsigned lane) { warp.lanes[lane].value = results[lane]; });
}

void match_all(Warp& warp, const WarpGroup& group) {
  const std::uint64_t first = warp.lanes[static_cast<unsigned>(std::countr_zero(group.arrived))].value;
  bool equal = true;
  each_lane(group.arrived, [&](unsigned lane) { equal = equal && warp.lanes[lane].value == first; });
  each_lane(group.arrived, [&](unsigned lane) { warp.lanes[lane].value = equal ? 1 : 0; });
}

void ballot(Warp& warp, const WarpGroup& group) {
  std::uint64_t votes = 0;
  each_lane(group.arrived, [&](unsigned lane) { votes |= warp.lanes[lane].value << lane; });
  each_lane(group.arrived, [&](unsigned lane) { warp.lanes[lane].value = votes; });
}

void reduce(Warp& warp, const WarpGroup& group) {
  unsigned result = static_cast<unsigned>(warp.lanes[static_cast<unsigned>(std::countr_zero(group.arrived))].value);
  each_lane(group.arrived & (group.arrived - 1),
            [&](unsigned lane) { result = combine(group.operation, result, static_cast<unsigned>(warp.lanes[lane].value)); });
  each_lane(group.arrived, [&](unsigned lane) { warp.lanes[lane].value = result; });
}

}  // namespace

void exchange(Warp& warp, const WarpGroup& group) {
  switch (group.operation) {
    case kHoneCpuSync:
      return;
    case kHoneCpuShuffle:
    case kHoneCpuShuffleUp:
    case kHoneCpuShuffleDown:
    case kHoneCpuShuffleXor:
      return shuffle(warp, group);
    case kHoneCpuBallot:
      return ballot(warp, group);
    case kHoneCpuMatchAny:
      return match_any(warp, group);
    case kHoneCpuMatchAll:
      return match_all(warp, group);
    default:
      return reduce(warp, group);
  }
}

}  // namespace hone::cpu
