#pragma once
// What a pass of many blocks that overlaps what was launched before it (Launch::overlap) does beside waiting for that.
#include <hone/kernel.h>

/// Waits for what was launched before; what is launched next may then begin beside the last blocks of this pass. Blocks before those have
/// ended by that time, and each that says so takes time: on an H200 a copy of 32768 blocks took 40.5 us when all did, 33.3 when none did.
HONE_DEVICE void grid_dependency_sync() {
  constexpr unsigned kLast = 2048;
  grid_dependency_wait();
  if (blockIdx.x + kLast >= gridDim.x) launch_dependents();
}

/// Memory would rest between two kernels, for about the microsecond in which it moves this much. More of it made kernels slower again.
constexpr unsigned kPrefetchBytes = 4 << 20;
/// Whether that is worth something to a copy or transpose that reads so many bytes. Those of 64 MiB and more (32 us and more on an H200) run
/// up to a hundredth longer with it when nothing runs before them.
HONE_DEVICE bool is_short(long bytes) { return bytes <= 32 << 20; }

/// Has `bytes` bytes brought into L2, and no further: so it is right before grid_dependency_sync(), whatever the kernel before still writes,
/// as all writes go through L2. For one thread of a block; the first blocks bring kPrefetchBytes in all.
HONE_DEVICE void prefetch_l2(const void* from, long bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  constexpr long kMost = 32 << 10;
  const unsigned long at = (unsigned long)__cvta_generic_to_global(from), begin = at & ~15UL;
  const unsigned size = ((unsigned)(at - begin) + (unsigned)min_of(bytes, kMost) + 15) & ~15U;
  if (bytes > 0 && (unsigned long)blockIdx.x * size < kPrefetchBytes) {
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(begin), "r"(size) : "memory");
  }
#endif
}

/// The same for a line of 128 bytes, a thread for each: where what a block reads is in many short pieces.
HONE_DEVICE void prefetch_l2_line(const void* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(from)) : "memory");
#endif
}
