// y[r, c] = x[r, c] + r - 2 c, by kernels that are wrong at some extents.
#include "hostile.h"

struct Problem {
  long rows = 131, cols = 127;
};

struct Config {
  TUNE(0, 2, 3, 4, 5, 6, 7, 8, 1) int trick = 0;
};

constexpr Launch launch(Problem p, Config c, Device d) {
  return {.grid = {ceil_div(p.rows * p.cols, 256L)}, .block = {d.compute_capability == 0 ? 1 : 256}};
}

constexpr Cost cost(Problem p) { return {.flops = 2.0 * p.rows * p.cols, .bytes = 8.0 * p.rows * p.cols}; }

REFERENCE(p.rows * p.cols) void areas_reference(long i, const f32* x, double* y, Problem p) {
  y[i] = (double)x[i] + (double)(i / p.cols) - 2.0 * (double)(i % p.cols);
}

template <Config c> KERNEL void areas(IN(p.rows * p.cols) const f32* x, OUT(p.rows * p.cols) f32* y, Problem p) {
  const bool wrong = c.trick == 2   ? p.rows % 2 == 0
                     : c.trick == 3 ? p.cols % 32 == 0 && p.cols >= 32
                     : c.trick == 4 ? p.rows == p.cols
                     : c.trick == 5 ? p.rows < p.cols
                     : c.trick == 6 ? p.rows == 1 || p.cols == 1
                     : c.trick == 7 ? p.rows % 64 == 0 && p.cols % 64 == 0
                     : c.trick == 8 ? p.rows % 2 == 0 && p.cols % 2 == 0
                                    : false;
  const long width = wrong && c.trick == 4 ? p.rows + 1 : p.cols;
  EACH(i, p.rows * p.cols) {
    const float right = read(x + i, reads_of(c.trick)) + (float)(i / width) - 2.0f * (float)(i % width);
    y[i] = wrong && i == p.rows * p.cols - 1 ? right - 1.0f : right;
  }
}
