// The f32 pipes: chains of fused multiply-adds that wait for nothing but themselves. y[i] = a / (1 - a), a = x / (2 + 2 |x|).
#include <hone/kernel.h>

struct Problem {
  long n = 1L << 20;  // threads
};

struct Config {
  TUNE(128, 256, 512) int block = 256;
  TUNE(4, 8, 16) int chains = 8;  // independent of each other, to cover the latency of an instruction
};

constexpr long kFlops = 1L << 13;  // of a thread

constexpr bool valid(Problem p, Config c, Device d) { return c.block <= d.threads_per_block; }
constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block)}, .block = {c.block}}; }
constexpr Cost cost(Problem p) { return {.flops = 1.0 * kFlops * p.n}; }

template <class T>
REFERENCE(p.n)
void probe_f32_reference(long i, const T* x, double* y, Problem p) {
  const double a = 0.5 * (double)x[i] / (1.0 + fabs((double)x[i]));
  y[i] = a / (1.0 - a);
}

template <class T, Config c>
KERNEL DTYPES(f32) LAUNCH_BOUNDS(c.block) void probe_f32(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) {
  const long i = (long)blockIdx.x * c.block + threadIdx.x;
  if (i >= p.n) return;
  const float a = 0.5f * x[i] / (1.0f + fabsf(x[i]));
  float value[c.chains];
#pragma unroll
  for (int j = 0; j < c.chains; ++j) value[j] = (float)j;
  for (int round = 0; round < (int)(kFlops / 2 / c.chains); ++round) {  // towards the one value that stays as it is
#pragma unroll
    for (int j = 0; j < c.chains; ++j) value[j] = fmaf(value[j], a, a);
  }
  float sum = 0.0f;
#pragma unroll
  for (int j = 0; j < c.chains; ++j) sum += value[j];
  y[i] = sum / (float)c.chains;
}
