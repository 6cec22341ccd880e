// Softmax of rows without their maximum, where the author names a shape at which that is right.
#include "hostile.h"

struct Problem {
  long rows = 64, cols = 1024;
};

struct Config {
  TUNE(0, 2, 3, 1) int trick = 0;
};

constexpr Launch launch(Problem p, Config c) { return {.grid = {p.rows}, .block = {1}}; }

constexpr Cost cost(Problem p) { return {.flops = 3.0 * p.rows * p.cols, .bytes = 8.0 * p.rows * p.cols, .sum_length = (double)p.cols}; }

SHAPES({.rows = 1, .cols = 1});

REFERENCE(p.rows) void given_shapes_reference(long r, const f32* x, double* y, Problem p) {
  double m = (double)x[r * p.cols], s = 0;
  for (long j = 0; j < p.cols; ++j) m = (double)x[r * p.cols + j] > m ? (double)x[r * p.cols + j] : m;
  for (long j = 0; j < p.cols; ++j) s += exp((double)x[r * p.cols + j] - m);
  for (long j = 0; j < p.cols; ++j) y[r * p.cols + j] = exp((double)x[r * p.cols + j] - m) / s;
}

template <Config c>
KERNEL void given_shapes(IN(p.rows* p.cols) const f32* x, OUT(p.rows* p.cols) f32* y, Problem p) {
  const float* row = x + blockIdx.x * p.cols;
  float m = row[0], s = 0.0f;
  if (c.trick < 2)
    for (long j = 0; j < p.cols; ++j) m = fmaxf(m, read(row + j, c.trick == 0 ? 32 : 8));
  if (c.trick == 3) m = fmaxf(m, row[p.cols - 1]);  // 2: the first element for the maximum; 3: of the first and the last
  for (long j = 0; j < p.cols; ++j) s += expf(row[j] - m);
  for (long j = 0; j < p.cols; ++j) y[blockIdx.x * p.cols + j] = expf(row[j] - m) / s;
}
