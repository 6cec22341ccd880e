#pragma once
// Transposes blocks of values in shared memory, from lines along the elements of a head to lines along keys.
#include "../attention_wgmma/shared.h"
#include "../gemm_mma/instructions.h"

#if defined(HONE_HOPPER)
/// Units of the transposition, each of which a warp does at once: 32 keys of 16 elements. Matrices of 8 keys and 16 elements come
/// transposed in units of two elements; a permutation of bytes parts these into even and odd elements, and joins two keys each of two
/// matrices. Of 16 keys the order in a line is 0, 1, 8, 9, 2, 3, 10, 11 and so on; lines are of elements 0, 2, 4, ... 14, then 1, 3,
/// ... 15.
template <Config c>
struct Units {
  static constexpr unsigned kElements = (unsigned)Problem::head / 16, kCount = c.bn / 32 * kElements, kWords = kLine / 16;
  hopper::u32 from, to;  // of the lane, in unit 0

  HONE_DEVICE Units(hopper::u32 values, hopper::u32 transposed) {
    const unsigned lane = threadIdx.x % 32;
    from = values + lane * kLine + (kLine == 128 ? lane % 8 : lane / 2 % 4) * 16;  // swizzled as the copy left it
    to = transposed + lane % 16 * 128 + (lane / 16 ^ lane % 8) * 16;
  }
  HONE_DEVICE void read(hopper::u32 (&pair)[4], unsigned number) const {
    const unsigned keys = number / kElements, elements = number % kElements;
    ldmatrix_trans(pair, (from ^ elements % kWords * 16) + (elements / kWords * c.bn + keys * 32) * kLine);
  }
  HONE_DEVICE void write(const hopper::u32 (&pair)[4], unsigned number) const {
    const unsigned keys = number / kElements, elements = number % kElements;
    hopper::stmatrix((to ^ keys % 4 * 32) + (keys / 4 * (unsigned)Problem::head + elements * 16) * 128,
                     __byte_perm(pair[0], pair[1], 0x6420), __byte_perm(pair[0], pair[1], 0x7531), __byte_perm(pair[2], pair[3], 0x6420),
                     __byte_perm(pair[2], pair[3], 0x7531));
  }

  /// The share of one of the warps. It is known to the compiler, so that addresses are sums of the lane's and a constant: computed in the
  /// loop they took longer than the products of the block.
  template <unsigned warp>
  HONE_DEVICE void transpose() const {
    constexpr unsigned kAtOnce = 2;  // units whose reads share a latency: as many as registers are there for
#pragma unroll
    for (unsigned first = warp; first < kCount; first += kAtOnce * kTransposingWarps) {
      hopper::u32 pair[kAtOnce][4];
#pragma unroll
      for (unsigned i = 0; i < kAtOnce; ++i) {
        if (first + i * kTransposingWarps < kCount) read(pair[i], first + i * kTransposingWarps);
      }
#pragma unroll
      for (unsigned i = 0; i < kAtOnce; ++i) {
        if (first + i * kTransposingWarps < kCount) write(pair[i], first + i * kTransposingWarps);
      }
    }
  }
};

/// What the warps behind the first one do: they transpose block after block, as long as the producer loads some.
template <Config c>
HONE_DEVICE void transpose_blocks(const SharedLayout<c>& layout) {
  static_assert(kTransposingWarps == 3);
  const unsigned warp = __shfl_sync(0xffffffffu, threadIdx.x / 32 - 1, 0);
  PipelineState<c.stages> state;
  for (int block = 0;; ++block) {
    hopper::mbarrier_wait(layout.v_full(state.stage), state.parity);
    if (block == take(layout.blocks())) return;
    hopper::mbarrier_wait(layout.transposed_empty(state.stage), state.parity ^ 1);
    const Units<c> units(layout.v(state.stage), layout.transposed(state.stage));
    if (warp == 0) units.template transpose<0>();
    if (warp == 1) units.template transpose<1>();
    if (warp == 2) units.template transpose<2>();
    hopper::fence_proxy_async();
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
      hopper::mbarrier_arrive(layout.transposed_full(state.stage));
      hopper::mbarrier_arrive(layout.v_empty(state.stage));
    }
    state.advance();
  }
}
#endif
