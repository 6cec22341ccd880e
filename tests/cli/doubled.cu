// Twice x, in blocks of a few threads: the cpu device compiles and runs it in no time. With -D WRONG_ITEMS=4, configurations of four items
// are wrong at 3 x 16, and right elsewhere.
#include <hone/kernel.h>

#ifndef WRONG_ITEMS
#define WRONG_ITEMS 0
#endif

struct Problem {
  long rows = 8;
  long cols = 16;
};

struct Config {
  TUNE(1, 2, 4, 8) int block = 4;
  TUNE(1, 2, 4) int items = 1;
};

constexpr Launch launch(Problem p, Config c) {
  return {.grid = {ceil_div(p.rows * p.cols, (long)c.block * c.items)}, .block = {c.block}};
}

constexpr Cost cost(Problem p) { return {.flops = 1.0 * p.rows * p.cols, .bytes = 8.0 * p.rows * p.cols}; }

REFERENCE(p.rows* p.cols) void doubled_reference(long i, const float* x, double* y) { y[i] = 2.0 * x[i]; }

template <Config c>
KERNEL void doubled(IN(p.rows* p.cols) const float* x, OUT(p.rows* p.cols) float* y, Problem p) {
  for (int k = 0; k < c.items; ++k) {
    const long i = ((long)blockIdx.x * c.items + k) * c.block + threadIdx.x;
    if (i < p.rows * p.cols) {
      y[i] = (c.items == WRONG_ITEMS && p.rows == 3 && p.cols == 16 ? 3.0f : 2.0f) * x[i];
    }
  }
}
