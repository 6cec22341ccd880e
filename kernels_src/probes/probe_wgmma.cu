// Tensor cores by warpgroups (wgmma, Hopper): products of constant matrices, from shared memory. y[i] = 65536 x[0] x[1].
#include <hone/kernel.h>
#include <hone/kernel_hopper.h>

struct Problem {
  long n = 1L << 18;  // threads
};

struct Config {
  TUNE(1, 2, 3) int groups = 2;  // warpgroups of a block
};

constexpr long kProducts = 4096;  // of a warpgroup: 64 x 256 x 16 each
constexpr int kWidth = 256;

constexpr long kShared = 1024 + (64 + kWidth) * 128L;

constexpr bool valid(Problem p, Config c, Device d) { return d.compute_capability == 90; }
constexpr Launch launch(Problem p, Config c) {
  return {.grid = {ceil_div(p.n, 128L * c.groups)}, .block = {128 * c.groups}, .shared = kShared};
}
constexpr Cost cost(Problem p) { return {.flops = 2.0 * 64 * kWidth * 16 * kProducts * p.n / 128}; }

template <class T>
TOLERANCE(y, .relative = 0.01)
REFERENCE(p.n) void probe_wgmma_reference(long i, const T* x, double* y, Problem p) {
  y[i] = 16.0 * kProducts * (double)(float)x[0] * (double)(float)x[1];
}

template <class T, Config c>
KERNEL DTYPES(bf16, f16) LAUNCH_BOUNDS(128 * c.groups) void probe_wgmma(IN(2) const T* x, OUT(p.n) float* y, Problem p) {
#if defined(HONE_HOPPER)
  SHARED_DYNAMIC(T, memory);
  const hopper::u32 begin = (hopper::shared_address(memory) + 1023) & ~1023u;
  T* const left = memory + (begin - hopper::shared_address(memory)) / sizeof(T);
  for (int j = (int)threadIdx.x; j < (64 + kWidth) * 64; j += 128 * c.groups) left[j] = j < 64 * 64 ? x[0] : x[1];
  hopper::fence_proxy_async();
  __syncthreads();
  const hopper::u64 a = hopper::matrix_descriptor(begin, 16, 1024), b = hopper::matrix_descriptor(begin + 64 * 128, 16, 1024);
  float sums[kWidth / 2];
  for (int round = 0; round < (int)(kProducts / 4); ++round) {
    hopper::wgmma_fence();
#pragma unroll
    for (int j = 0; j < 4; ++j) hopper::wgmma<T, kWidth, false, false>(sums, a, b, round + j > 0);
    hopper::wgmma_commit_group();
    hopper::wgmma_wait_group<0>();
  }
  const long i = (long)blockIdx.x * 128 * c.groups + threadIdx.x;
  float sum = 0.0f;
#pragma unroll
  for (int j = 0; j < kWidth / 2; ++j) sum += sums[j];
  if (i < p.n) y[i] = sum / (float)(kWidth / 2);
#endif
}
