#pragma once
// The largest magnitude of a row, found by all threads of a block.

template <int block> HONE_DEVICE float largest_of_block(float mine) {
  __shared__ float of_warp[32];
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    mine = fmaxf(mine, __shfl_xor_sync(0xffffffffu, mine, step));
  }
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
  float all = of_warp[0];
  for (int warp = 1; warp < block / 32; ++warp) {
    all = fmaxf(all, of_warp[warp]);
  }
  return all;
}
