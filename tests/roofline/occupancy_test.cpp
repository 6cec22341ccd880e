#include "engine/roofline/occupancy.hpp"

#include <doctest/doctest.h>

namespace hone::roofline::test {
namespace {

DeviceInfo gpu(std::int64_t capability, std::int64_t threads, std::int64_t shared) {
  DeviceInfo device;
  device.properties = {{"compute_capability", capability},
                       {"threads_per_multiprocessor", threads},
                       {"registers_per_multiprocessor", 65536},
                       {"shared_memory_per_multiprocessor", shared}};
  return device;
}

const DeviceInfo kA100 = gpu(80, 2048, 164 << 10), kA10 = gpu(86, 1536, 100 << 10), kH200 = gpu(90, 2048, 228 << 10);

/// Blocks of a multiprocessor, by cudaOccupancyMaxActiveBlocksPerMultiprocessor.
std::int64_t blocks(const DeviceInfo& device, const BlockNeeds& block) { return occupancy(block, device)->blocks; }

std::vector<OccupancyLimit> limiting(const DeviceInfo& device, const BlockNeeds& block) { return occupancy(block, device)->limits; }

}  // namespace

TEST_CASE("blocks on a multiprocessor are those of CUDA's occupancy calculator") {
  // sm_80: 64 warps, 32 blocks, 64 Ki registers, 164 KiB.
  CHECK(blocks(kA100, {.threads = 256, .registers = 32, .shared_bytes = 0}) == 8);
  CHECK(blocks(kA100, {.threads = 256, .registers = 33, .shared_bytes = 0}) == 6);  // 40 registers: 48 warps
  CHECK(blocks(kA100, {.threads = 256, .registers = 64, .shared_bytes = 0}) == 4);
  CHECK(blocks(kA100, {.threads = 256, .registers = 255, .shared_bytes = 0}) == 1);  // 256 registers: 8 warps
  CHECK(blocks(kA100, {.threads = 1024, .registers = 65, .shared_bytes = 0}) == 0);  // 72 registers: 28 warps
  CHECK(blocks(kA100, {.threads = 32, .registers = 16, .shared_bytes = 0}) == 32);
  CHECK(blocks(kA100, {.threads = 96, .registers = 128, .shared_bytes = 0}) == 5);  // 16 warps
  CHECK(blocks(kA100, {.threads = 128, .registers = 32, .shared_bytes = 48 << 10}) == 3);
  CHECK(blocks(kA100, {.threads = 128, .registers = 32, .shared_bytes = 163 << 10}) == 1);
  CHECK(blocks(kA100, {.threads = 128, .registers = 32, .shared_bytes = 164 << 10}) == 0);
  // sm_86: 48 warps, 16 blocks, 100 KiB.
  CHECK(blocks(kA10, {.threads = 64, .registers = 16, .shared_bytes = 0}) == 16);
  CHECK(blocks(kA10, {.threads = 512, .registers = 40, .shared_bytes = 0}) == 3);
  CHECK(blocks(kA10, {.threads = 1024, .registers = 32, .shared_bytes = 0}) == 1);
  // sm_90: 64 warps, 32 blocks, 228 KiB.
  CHECK(blocks(kH200, {.threads = 384, .registers = 168, .shared_bytes = 200 << 10}) == 1);
  CHECK(blocks(kH200, {.threads = 128, .registers = 32, .shared_bytes = 227 << 10}) == 1);
  CHECK(blocks(kH200, {.threads = 256, .registers = 32, .shared_bytes = 56 << 10}) == 4);
  CHECK(blocks(kH200, {.threads = 33, .registers = 32, .shared_bytes = 0}) == 32);
}

TEST_CASE("what allows no more blocks is named") {
  CHECK(limiting(kH200, {.threads = 256, .registers = 64, .shared_bytes = 0}) == std::vector{OccupancyLimit::kRegisters});
  CHECK(limiting(kH200, {.threads = 256, .registers = 32, .shared_bytes = 0}) ==
        std::vector{OccupancyLimit::kThreads, OccupancyLimit::kRegisters});
  CHECK(limiting(kH200, {.threads = 32, .registers = 16, .shared_bytes = 0}) == std::vector{OccupancyLimit::kBlocks});
  CHECK(limiting(kH200, {.threads = 128, .registers = 32, .shared_bytes = 100 << 10}) == std::vector{OccupancyLimit::kSharedMemory});
  CHECK(occupancy({.threads = 256, .registers = 64, .shared_bytes = 0}, kH200)->share == doctest::Approx(0.5));
}

TEST_CASE("nothing is said of devices that are no GPU, and of blocks that are not known") {
  CHECK_FALSE(occupancy({.threads = 256, .registers = 32, .shared_bytes = 0}, gpu(0, 2048, 1 << 20)));
  CHECK_FALSE(occupancy({.threads = 0, .registers = 32, .shared_bytes = 0}, kH200));
}

}  // namespace hone::roofline::test
