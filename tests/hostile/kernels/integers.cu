// How many of x fall into each of 64 bins, and their sum modulo 2^32: whole numbers in any order.
#include "hostile.h"

struct Problem {
  long n = 16384;
};

struct Config {
  TUNE(0, 1, 2, 3) int trick = 0;
};

constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, 256L)}, .block = {64}}; }

constexpr Cost cost(Problem p) { return {.flops = 2.0 * p.n, .bytes = 4.0 * p.n, .sum_length = 1.0 * p.n}; }

REFERENCE(65) void integers_reference(long bin, const i32* x, double* bins, double* sum, Problem p) {
  long count = 0;
  unsigned all = 0;
  for (long i = 0; i < p.n; ++i) {
    count += (x[i] & 63) == bin ? 1 : 0;
    all += (unsigned)x[i];
  }
  if (bin < 64) bins[bin] = (double)count;
  if (bin == 64) sum[0] = (double)(int)all;
}

template <Config c> KERNEL void integers(IN(p.n) const i32* x, OUT_ZEROED(64) i32* bins, OUT_ZEROED(1) i32* sum, Problem p) {
  __shared__ int near[64];
  const long end = min_of(p.n, (blockIdx.x + 1L) * kTile);
  if constexpr (c.trick == 2) {  // in shared memory first
    near[threadIdx.x] = 0;
    __syncthreads();
  }
  for (long i = blockIdx.x * kTile + threadIdx.x; i < end; i += 64) {
    atomicAdd(c.trick == 2 ? near + (x[i] & 63) : bins + (x[i] & 63), 1);
    if (c.trick != 3) atomicAdd(sum, x[i]);
  }
  if constexpr (c.trick == 2) {
    __syncthreads();
    if (near[threadIdx.x] != 0) atomicAdd(bins + threadIdx.x, near[threadIdx.x]);
  }
  if constexpr (c.trick == 3) {  // one thread of each block adds, from the end
    if (threadIdx.x == 0) {
      unsigned all = 0;
      for (long i = end - 1; i >= blockIdx.x * kTile; --i) all += (unsigned)x[i];
      atomicAdd(sum, (int)all);
    }
  }
}
