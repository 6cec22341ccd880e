// Tensor cores by warps (mma.sync, compute capability 8.0): products of constant matrices, from registers. y[i] = 65536 x[0] x[1].
#include <hone/kernel.h>

#include "../gemm_mma/instructions.h"

struct Problem {
  long n = 1L << 18;  // threads
};

struct Config {
  TUNE(128, 256, 512) int block = 256;
  TUNE(4, 8, 16) int chains = 8;  // sums that do not wait for each other
};

constexpr long kProducts = 4096;  // of a warp: 16 x 8 x 16 each

constexpr bool valid(Problem p, Config c, Device d) { return d.compute_capability >= 80 && c.block <= d.threads_per_block; }
constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block)}, .block = {c.block}}; }
constexpr Cost cost(Problem p) { return {.flops = 2.0 * 16 * 8 * 16 * kProducts * p.n / 32}; }

template <class T>
TOLERANCE(y, .relative = 0.01)
REFERENCE(p.n) void probe_mma_reference(long i, const T* x, double* y, Problem p) {
  y[i] = 16.0 * kProducts * (double)(float)x[0] * (double)(float)x[1];
}

template <class T, Config c>
KERNEL DTYPES(bf16, f16) LAUNCH_BOUNDS(c.block) void probe_mma(IN(2) const T* x, OUT(p.n) float* y, Problem p) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const T left[2] = {x[0], x[0]}, right[2] = {x[1], x[1]};
  unsigned a[4], b;
  a[0] = a[1] = a[2] = a[3] = *reinterpret_cast<const unsigned*>(left);
  b = *reinterpret_cast<const unsigned*>(right);
  float sums[c.chains][4] = {};
  for (int round = 0; round < (int)(kProducts / c.chains); ++round) {
#pragma unroll
    for (int j = 0; j < c.chains; ++j) mma<T>(sums[j], a, b, b);
  }
  float sum = 0.0f;
#pragma unroll
  for (int j = 0; j < c.chains; ++j) sum += sums[j][0];
  const long i = (long)blockIdx.x * c.block + threadIdx.x;
  if (i < p.n) y[i] = sum;
#endif
}
