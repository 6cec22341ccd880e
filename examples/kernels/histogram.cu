// Histogram: counts[b] is how many keys are b.
#include <hone/kernel.h>

struct Problem {
  long n = 1L << 24;  // keys
  long bins = 256;    // what keys are below
};

struct Config {
  TUNE(64, 128, 256, 512, 1024) int block = 256;  // threads in a block
  TUNE(1, 4, 16, 64) int items = 16;              // keys of a thread
  TUNE(0, 1, 2, 4, 8) int copies = 1;             // of the counts in shared memory, so that fewer threads meet; 0: device memory alone
};

constexpr bool valid(Problem p, Config c, Device d) {
  if (c.block > d.threads_per_block) return false;                              // the device's limit
  return c.copies * p.bins * (long)sizeof(int) <= d.shared_memory_per_block;    // what a block may have
}

constexpr Launch launch(Problem p, Config c) {
  return {.grid = {ceil_div(p.n, (long)c.block * c.items)}, .block = {c.block}, .shared = c.copies * p.bins * (long)sizeof(int)};
}

constexpr Cost cost(Problem p) { return {.bytes = 4.0 * p.n}; }

REFERENCE(p.n) void histogram_reference(long i, const i32* keys, double* counts, Problem p) { atomicAdd(&counts[keys[i]], 1.0); }

template <Config c>
KERNEL LAUNCH_BOUNDS(c.block)
void histogram(IN(p.n, .below = p.bins) const i32* keys, OUT_ZEROED(p.bins) i32* counts, Problem p) {
  SHARED_DYNAMIC(int, shared);
  int* mine = shared + (c.copies > 0 ? threadIdx.x % (c.copies > 0 ? c.copies : 1) : 0) * p.bins;
  if constexpr (c.copies > 0) {
    for (long b = threadIdx.x; b < c.copies * p.bins; b += c.block) shared[b] = 0;
    __syncthreads();
  }
  for (int k = 0; k < c.items; ++k) {
    const long i = ((long)blockIdx.x * c.items + k) * c.block + threadIdx.x;
    if (i < p.n) atomicAdd(c.copies > 0 ? &mine[keys[i]] : &counts[keys[i]], 1);
  }
  if constexpr (c.copies > 0) {
    __syncthreads();
    for (long b = threadIdx.x; b < p.bins; b += c.block) {
      int sum = 0;
      for (int copy = 0; copy < c.copies; ++copy) sum += shared[copy * p.bins + b];
      if (sum > 0) atomicAdd(&counts[b], sum);
    }
  }
}
