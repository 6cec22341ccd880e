// y = x, which the sleeping devices of the tests can do: an operation of two kernels, with copied_otherwise.cu.
#include <hone/kernel.h>

struct Problem {
  long n = 1024;
};

struct Config {
  TUNE(32, 64, 128, 256, 512) int block = 64;
  TUNE(1, 2, 4, 8) int items = 1;
};

constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block * c.items)}, .block = {c.block}}; }

REFERENCE(p.n) void copied_reference(long i, const float* x, double* y) { y[i] = x[i]; }

template <Config c>
KERNEL void copied(IN(p.n) const float* x, OUT(p.n) float* y, Problem p) {
  for (int k = 0; k < c.items; ++k) {
    const long i = ((long)blockIdx.x * c.items + k) * c.block + threadIdx.x;
    if (i < p.n) {
      y[i] = x[i];
    }
  }
}
