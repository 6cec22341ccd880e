// Sums of the parts of an array, for somebody who adds up all 64 of them: into how many parts it is best cut is the tuner's to say.
#include <hone/kernel.h>

struct Problem {
  RANGE(0) long n = 1L << 22;  // elements
};

struct Config {
  TUNE(1, 4, 16, 64) int parts = 16;     // parts with elements; the sums of the others are zero
  TUNE(64, 128, 256, 512) int block = 128;  // threads in a block, one block a part
};

SHAPES({.n = 1}, {.n = 63}, {.n = 4097});  // fewer elements than parts, parts of unequal lengths

constexpr long kParts = 64;

constexpr bool valid(Problem p, Config c, Device d) {
  return c.block <= d.threads_per_block;  // the device's limit
}

constexpr Launch launch(Problem p, Config c) { return {.grid = {kParts}, .block = {c.block}}; }

constexpr Cost cost(Problem p) { return {.flops = 1.0 * p.n, .bytes = 4.0 * p.n, .sum_length = 1.0 * p.n}; }

REFERENCE(kParts) void partial_sums_reference(long part, const float* x, double* y, Problem p, Config c) {
  const long size = ceil_div(p.n, (long)c.parts);
  double sum = 0;
  for (long i = part * size; part < c.parts && i < min_of(p.n, (part + 1) * size); ++i) sum += x[i];
  y[part] = sum;
}

template <Config c>
KERNEL LAUNCH_BOUNDS(c.block)
void partial_sums(IN(p.n) const float* x, OUT(kParts) float* y, Problem p) {
  __shared__ float sums[c.block];
  const long size = ceil_div(p.n, (long)c.parts), part = blockIdx.x, end = part < c.parts ? min_of(p.n, (part + 1) * size) : 0;
  float sum = 0;
  for (long i = part * size + threadIdx.x; i < end; i += c.block) sum += x[i];
  sums[threadIdx.x] = sum;
  for (int step = c.block / 2; step > 0; step /= 2) {
    __syncthreads();
    if ((int)threadIdx.x < step) sums[threadIdx.x] += sums[threadIdx.x + step];
  }
  if (threadIdx.x == 0) y[part] = sums[0];
}
