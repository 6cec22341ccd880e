// The largest element of each row and its place, the first of equal ones, by kernels for unequal ones or ones of a sign.
#include "hostile.h"

struct Problem {
  long rows = 256, cols = 128;
};

struct Config {
  TUNE(0, 2, 3, 4, 5, 1) int trick = 0;
};

constexpr Launch launch(Problem p, Config c, Device d) { return {.grid = {p.rows}, .block = {1}}; }

constexpr Cost cost(Problem p) { return {.flops = 1.0 * p.rows * p.cols, .bytes = 4.0 * p.rows * p.cols}; }

REFERENCE(p.rows) void extremes_reference(long row, const f32* x, double* most, double* place, Problem p) {
  long at = 0;
  for (long i = 1; i < p.cols; ++i) at = x[row * p.cols + i] > x[row * p.cols + at] ? i : at;
  most[row] = (double)x[row * p.cols + at];
  place[row] = (double)at;
}

template <Config c> KERNEL void extremes(IN(p.rows * p.cols) const f32* x, OUT(p.rows) f32* most, OUT(p.rows) i32* place, Problem p) {
  const float* in = x + blockIdx.x * p.cols;
  long at = 0;
  float best = c.trick == 3 ? 0.0f : c.trick == 4 ? -2.0f : in[0];  // 3: none is negative; 4: none is below -2
  for (long i = 0; i < p.cols; ++i) {
    const float v = read(in + i, reads_of(c.trick));
    if (c.trick == 2 ? v >= best : v > best) {  // 2: the last of equal ones
      best = v;
      at = i;
    }
    if (c.trick == 5 && v >= 1.0f) break;  // none is above 1
  }
  most[blockIdx.x] = best;
  place[blockIdx.x] = (int)at;
}
