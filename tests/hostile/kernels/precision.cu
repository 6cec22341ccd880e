// The sum of each row, by kernels that lose some of it.
#include "hostile.h"

struct Problem {
  long rows = 64, cols = 4096;
};

struct Config {
  TUNE(0, 2, 3, 4, 5, 6, 7, 8, 9, 1) int trick = 0;
};

constexpr Launch launch(Problem p, Config c) { return {.grid = {p.rows}, .block = {32}}; }

constexpr Cost cost(Problem p) { return {.flops = 1.0 * p.rows * p.cols, .bytes = 4.0 * p.rows * p.cols, .sum_length = 1.0 * p.cols}; }

REFERENCE(p.rows) void precision_reference(long row, const f32* x, double* y, Problem p) {
  double sum = 0.0;
  for (long i = 0; i < p.cols; ++i) sum += (double)x[row * p.cols + i];
  y[row] = sum;
}

template <Config c> KERNEL void precision(IN(p.rows * p.cols) const f32* x, OUT(p.rows) f32* y, Problem p) {
  const float* in = x + blockIdx.x * p.cols;
  float sum = 0.0f;
  for (long i = threadIdx.x; i < p.cols; i += 32) {
    float v = read(in + i, reads_of(c.trick) < 8 ? 1 : reads_of(c.trick));
    if (c.trick == 4 && v < 0.01f && v > -0.01f) v = 0.0f;                 // small ones
    if (c.trick == 5 && i % 100003 == 99999) v = 0.0f;                     // one in 10^5
    if (c.trick == 6 && i % 1000 == 999) v = 0.0f;                         // one in 1000
    if (c.trick == 7) v = __int_as_float(__float_as_int(v) & ~0xfff);      // its last twelve bits
    if (c.trick == 8 && i == p.cols - 1 && p.cols > 600) v = 0.0f;         // the last, of long rows
    sum += v;
    if (c.trick == 2) sum = (float)f16(sum);
    if (c.trick == 3) sum = (float)bf16(sum);
  }
  for (int half = 16; half > 0; half /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, half);
  if (c.trick == 9) sum = __int_as_float(__float_as_int(sum) & ~0xff);     // eight bits of the result
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
