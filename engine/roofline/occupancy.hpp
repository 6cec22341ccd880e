#pragma once
// How many blocks a multiprocessor holds at once, and what stands in the way of more: the rules of NVIDIA's occupancy calculator.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/pass_launch.hpp"

namespace hone::roofline {

/// What a block takes.
struct BlockNeeds {
  std::int64_t threads = 0;
  std::int64_t registers = 0;     ///< per thread
  std::int64_t shared_bytes = 0;  ///< static + dynamic, without what the system reserves
  std::int64_t cluster = 1;       ///< blocks that must be resident at once
};

/// What keeps further blocks out.
enum class OccupancyLimit { kThreads, kBlocks, kRegisters, kSharedMemory, kClusters };
std::string_view name(OccupancyLimit limit);

struct Occupancy {
  std::int64_t blocks = 0;             ///< resident on a multiprocessor; 0: it cannot be launched
  std::int64_t warps = 0, most = 0;    ///< resident, and how many there could be
  double share = 0.0;                  ///< warps / most
  std::vector<OccupancyLimit> limits;  ///< those that allow no more than `blocks`
};

/// For compute capability 7.0 and later, of which the device's properties tell the sizes. Nothing for other devices, and where the block is
/// not known. A cluster of more than one block is placed on as many multiprocessors; those of a GPU processing cluster that are left over
/// are not known here, so clusters count as a limit only where one holds no whole block.
std::optional<Occupancy> occupancy(const BlockNeeds& block, const DeviceInfo& device);

/// Of a configuration: of its pass with the lowest share. The compiler's resources are the largest of all passes; where there are several,
/// static shared memory is left out, as nobody knows whose it is.
std::optional<Occupancy> occupancy(const std::vector<PassLaunch>& plan, const Resources& resources, const DeviceInfo& device);
/// "32 of 64 warps in 4 blocks (limited by registers)".
std::string text(const Occupancy& occupancy);

}  // namespace hone::roofline
