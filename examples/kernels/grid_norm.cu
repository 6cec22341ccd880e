// y = x / |x| in one cooperative launch: all blocks sum their squares, meet at a barrier of the whole grid, and scale what they hold.
#include <hone/kernel.h>

#include <cooperative_groups.h>

struct Problem {
  long n = 1L << 22;  // elements
};

struct Config {
  TUNE(128, 256, 512, 1024) int block = 256;  // threads in a block
  TUNE(1, 2, 4, 8) int blocks = 2;            // blocks on a multiprocessor: all of the grid must run at once
  TUNE(1, 2, 4) int vec = 1;                  // elements in one access
};

constexpr long kMostBlocks = 4096;

constexpr bool valid(Problem p, Config c, Device d) {
  if (d.compute_capability < 60) return false;                                // cooperative launches came with Pascal
  if (c.block * c.blocks > d.threads_per_multiprocessor) return false;        // the grid must fit the device
  if (c.blocks * d.multiprocessors > kMostBlocks) return false;               // a partial sum for each block
  return p.n % c.vec == 0;                                                    // no access reaches beyond the end
}

constexpr Launch launch(Problem p, Config c, Device d) {
  return {.grid = {c.blocks * d.multiprocessors}, .block = {c.block}, .cooperative = true};
}

constexpr Cost cost(Problem p) { return {.flops = 3.0 * p.n, .bytes = 8.0 * p.n, .sum_length = (double)p.n}; }

REFERENCE(1) void grid_norm_reference_squares(long, const float* x, double* y, Problem p) {
  double sum = 0;
  for (long i = 0; i < p.n; ++i) sum += (double)x[i] * x[i];
  y[0] = sum;
}

// Every element needs the sum, which lies in the first: that one is written last.
REFERENCE(p.n) void grid_norm_reference_others(long i, const float* x, double* y, Problem p) {
  if (i > 0) y[i] = (double)x[i] / sqrt(y[0]);
}

REFERENCE(1) void grid_norm_reference_first(long, const float* x, double* y, Problem p) { y[0] = (double)x[0] / sqrt(y[0]); }

template <Config c>
HONE_DEVICE float block_sum(float value) {
  __shared__ float of_warps[32];
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0;
  for (int warp = 0; warp < c.block / 32; ++warp) sum += of_warps[warp];
  __syncthreads();
  return sum;
}

template <Config c>
KERNEL LAUNCH_BOUNDS(c.block, c.blocks)
void grid_norm(IN(p.n) const float* x, OUT(p.n) float* y, WORKSPACE(kMostBlocks) float* sums, Problem p) {
  const long first = (blockIdx.x * (long)c.block + threadIdx.x) * c.vec, stride = (long)gridDim.x * c.block * c.vec;
  float sum = 0;
  for (long i = first; i < p.n; i += stride) {
    const Vector<float, c.vec> part = load<c.vec>(x + i);
    for (int e = 0; e < c.vec; ++e) sum += part[e] * part[e];
  }
  sum = block_sum<c>(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  cooperative_groups::this_grid().sync();
  float all = 0;
  for (int block = threadIdx.x; block < (int)gridDim.x; block += c.block) all += sums[block];
  const float scale = rsqrtf(block_sum<c>(all));
  for (long i = first; i < p.n; i += stride) {
    Vector<float, c.vec> part = load<c.vec>(x + i);
    for (int e = 0; e < c.vec; ++e) part[e] *= scale;
    store(y + i, part);
  }
}
