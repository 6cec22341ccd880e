#pragma once
// Transposes blocks of values in shared memory, from lines along the elements of a head to lines along keys.
#include "../attention_wgmma/shared.h"
#include "../gemm_mma/instructions.h"

#if defined(HONE_HOPPER)
/// Transposes 32 keys of 16 elements: a warp does. Matrices of 8 keys and 16 elements come transposed in units of two elements; a
/// permutation of bytes parts these into even and odd elements, and joins two keys each of two matrices. Of 16 keys the order in a line is
/// 0, 1, 8, 9, 2, 3, 10, 11 and so on; lines are of elements 0, 2, 4, ... 14, then 1, 3, ... 15.
template <Config c>
HONE_DEVICE void turn(hopper::u32 from, hopper::u32 to, int keys, int elements) {
  constexpr int kLines = kLine / 16;  // words of a line
  const int lane = (int)threadIdx.x % 32, key = keys * 32 + lane, word = elements % kLines;
  const int place = kLine == 128 ? word ^ key % 8 : word ^ key / 2 % 4;  // swizzled as the copy left it
  hopper::u32 pair[4];
  ldmatrix_trans(pair, from + (elements / kLines * c.bn + key) * kLine + place * 16);
  const int line = elements * 16 + lane % 16, run = keys * 2 + lane / 16;  // of 16 keys
  hopper::stmatrix(to + (run / 8 * (int)Problem::head + line) * 128 + (run % 8 ^ line % 8) * 16, __byte_perm(pair[0], pair[1], 0x6420),
                   __byte_perm(pair[0], pair[1], 0x7531), __byte_perm(pair[2], pair[3], 0x6420), __byte_perm(pair[2], pair[3], 0x7531));
}

/// What the warps behind the first one do: they transpose block after block, as long as the producer loads some.
template <Config c>
HONE_DEVICE void turn_blocks(const SharedLayout<c>& layout) {
  constexpr int kKeys = c.bn / 32, kElements = (int)Problem::head / 16;
  const int warp = __shfl_sync(0xffffffffu, (int)threadIdx.x / 32 - 1, 0);
  PipelineState<c.stages> state;
  for (int block = 0;; ++block) {
    hopper::mbarrier_wait(layout.v_full(state.stage), state.parity);
    if (block == take(layout.blocks())) return;
    hopper::mbarrier_wait(layout.turned_empty(state.stage), state.parity ^ 1);
#pragma unroll 2
    for (int i = warp; i < kKeys * kElements; i += kTurners) {
      turn<c>(layout.v(state.stage), layout.turned(state.stage), i / kElements, i % kElements);
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
