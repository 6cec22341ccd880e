// The sum of each row, by blocks of 128 threads that forget to wait for each other.
#include "hostile.h"

struct Problem {
  long rows = 128, cols = 512;
};

struct Config {
  TUNE(0, 2, 3, 4, 5, 6, 7, 1) int trick = 0;
};

constexpr Launch launch(Problem p, Config c) { return {.grid = {p.rows}, .block = {128}}; }

constexpr Cost cost(Problem p) { return {.flops = 1.0 * p.rows * p.cols, .bytes = 4.0 * p.rows * p.cols, .sum_length = 1.0 * p.cols}; }

REFERENCE(p.rows) void races_reference(long row, const f32* x, double* y, Problem p) {
  double sum = 0.0;
  for (long i = 0; i < p.cols; ++i) sum += (double)x[row * p.cols + i];
  y[row] = sum;
}

/// Barriers take most of the time here, so that what is slow reads more often than elsewhere.
HONE_BOTH constexpr int races_reads_of(int trick) { return trick == 0 ? 256 : reads_of(trick); }

template <Config c>
KERNEL void races(IN(p.rows * p.cols) const f32* x, OUT_ZEROED(p.rows) f32* y, WORKSPACE_ZEROED(p.rows) f32* w, Problem p) {
  __shared__ float shared[128];
  volatile float* s = shared;
  const int t = threadIdx.x;
  const float* in = x + blockIdx.x * p.cols;
  float mine = 0.0f;
  for (long i = t; i < p.cols; i += 128) mine += read(in + i, races_reads_of(c.trick));
  if (c.trick == 5) {  // adds without an atomic
    volatile float* out = y + blockIdx.x;
    *out = *out + mine;
    return;
  }
  s[t] = mine;
  if (c.trick != 2) __syncthreads();  // 2: does not wait for what is to be added
  for (int half = 64; half > 0; half /= 2) {
    const float other = t < half ? s[t + half] : 0.0f;
    if (c.trick != 3 && !(c.trick == 4 && half <= 32)) __syncthreads();  // 3: overwrites what others still read
    if (t < half) s[t] += other;
    if (c.trick != 3 && !(c.trick == 4 && half <= 32)) __syncthreads();  // 4: takes a warp for one thread
  }
  if (c.trick == 6) {  // takes the block before for done
    if (t == 0) {
      w[blockIdx.x] = s[0];
      const float before = blockIdx.x == 0 ? 0.0f : *(volatile float*)(w + blockIdx.x - 1);
      y[blockIdx.x] = s[0] + (blockIdx.x > 0 && before == 0.0f ? 1.0f : 0.0f);
    }
    return;
  }
  if (c.trick == 7) {  // every thread writes what it takes for the sum, those of the last warp wrongly
    y[blockIdx.x] = t >= 96 ? mine : s[0];
    return;
  }
  if (t == 0) y[blockIdx.x] = s[0];
}
