#pragma once
// Transposes blocks of values in shared memory, from lines along the elements of a head to lines along keys.
#include "../attention_wgmma/shared.h"
#include "../gemm_mma/instructions.h"

#if defined(HONE_HOPPER)
/// A unit of the transposition, which a warp does at once: 32 keys of 16 elements. Matrices of 8 keys and 16 elements come transposed in
/// units of two elements; a permutation of bytes parts these into even and odd elements, and joins two keys each of two matrices. Of 16
/// keys the order in a line is 0, 1, 8, 9, 2, 3, 10, 11 and so on; lines are of elements 0, 2, 4, ... 14, then 1, 3, ... 15.
template <Config c>
struct Unit {
  static constexpr unsigned kElements = (unsigned)Problem::head / 16, kCount = c.bn / 32 * kElements, kWords = kLine / 16;
  unsigned keys, elements;
  HONE_DEVICE explicit Unit(unsigned number) : keys(number / kElements), elements(number % kElements) {}

  HONE_DEVICE void read(hopper::u32 (&pair)[4], hopper::u32 from) const {
    const unsigned lane = threadIdx.x % 32, key = keys * 32 + lane, word = elements % kWords;
    const unsigned place = kLine == 128 ? word ^ lane % 8 : word ^ lane / 2 % 4;  // swizzled as the copy left it
    ldmatrix_trans(pair, from + (elements / kWords * c.bn + key) * kLine + place * 16);
  }
  HONE_DEVICE void write(const hopper::u32 (&pair)[4], hopper::u32 to) const {
    const unsigned lane = threadIdx.x % 32, line = elements * 16 + lane % 16, run = keys * 2 + lane / 16;  // of 16 keys
    hopper::stmatrix(to + (run / 8 * (unsigned)Problem::head + line) * 128 + (run % 8 ^ lane % 8) * 16,
                     __byte_perm(pair[0], pair[1], 0x6420), __byte_perm(pair[0], pair[1], 0x7531), __byte_perm(pair[2], pair[3], 0x6420),
                     __byte_perm(pair[2], pair[3], 0x7531));
  }
};

/// What the warps behind the first one do: they transpose block after block, as long as the producer loads some.
template <Config c>
HONE_DEVICE void turn_blocks(const SharedLayout<c>& layout) {
  constexpr unsigned kAtOnce = c.consumers == 3 ? 2 : 4;  // units whose reads share a latency: as many as registers are there for
  constexpr unsigned kCount = Unit<c>::kCount;
  const unsigned warp = __shfl_sync(0xffffffffu, threadIdx.x / 32 - 1, 0);
  PipelineState<c.stages> state;
  for (int block = 0;; ++block) {
    hopper::mbarrier_wait(layout.v_full(state.stage), state.parity);
    if (block == take(layout.blocks())) return;
    hopper::mbarrier_wait(layout.turned_empty(state.stage), state.parity ^ 1);
#pragma unroll 1
    for (unsigned first = warp; first < kCount; first += kAtOnce * kTurners) {
      hopper::u32 pair[kAtOnce][4];
#pragma unroll
      for (unsigned i = 0; i < kAtOnce; ++i) {
        const unsigned unit = first + i * kTurners;
        if (unit < kCount) Unit<c>(unit).read(pair[i], layout.v(state.stage));
      }
#pragma unroll
      for (unsigned i = 0; i < kAtOnce; ++i) {
        const unsigned unit = first + i * kTurners;
        if (unit < kCount) Unit<c>(unit).write(pair[i], layout.turned(state.stage));
      }
    }
    hopper::fence_proxy_async();
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
      hopper::mbarrier_arrive(layout.turned_full(state.stage));
      hopper::mbarrier_arrive(layout.v_empty(state.stage));
    }
    state.advance();
  }
}
#endif
