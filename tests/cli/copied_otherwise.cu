// The same as copied.cu, with neighbouring elements in one thread.
#include <hone/kernel.h>

OPERATION(copied);

struct Problem {
  long n = 1024;
};

struct Config {
  TUNE(32, 64, 128, 256, 512) int block = 64;
  TUNE(1, 2, 4, 8) int neighbours = 2;
};

constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block * c.neighbours)}, .block = {c.block}}; }

template <Config c>
KERNEL void copied_otherwise(IN(p.n) const float* x, OUT(p.n) float* y, Problem p) {
  const long first = ((long)blockIdx.x * c.block + threadIdx.x) * c.neighbours;
  for (long i = first; i < first + c.neighbours && i < p.n; ++i) {
    y[i] = x[i];
  }
}
