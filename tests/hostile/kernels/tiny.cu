// y = |x| / 2, by kernels that lose small numbers or overflow on large ones.
#include "hostile.h"

struct Problem {
  long n = 16384;
};

struct Config {
  TUNE(0, 2, 3, 4, 1) int trick = 0;
};

constexpr Launch launch(Problem p, Config c, Device d) { return {.grid = {ceil_div(p.n, 256L)}, .block = {d.compute_capability == 0 ? 1 : 256}}; }

constexpr Cost cost(Problem p) { return {.flops = 2.0 * p.n, .bytes = 8.0 * p.n}; }

REFERENCE(p.n) void tiny_reference(long i, const f32* x, double* y, Problem p) { y[i] = 0.5 * (x[i] < 0.0f ? -(double)x[i] : (double)x[i]); }

template <Config c> KERNEL void tiny(IN(p.n) const f32* x, OUT(p.n) f32* y, Problem p) {
  EACH(i, p.n) {
    const float v = read(x + i, reads_of(c.trick));
    float size = v < 0.0f ? -v : v;
    if (c.trick == 2 && size < 1e-8f) size = 0.0f;             // below the rounding of the usual ones
    if (c.trick == 3) size = size > 0.0f ? v * v / size : 0.0f;  // under- and overflows where x * x does
    if (c.trick == 4) size = (size * 1e36f) * 1e-36f;          // overflows above 340
    y[i] = 0.5f * size;
  }
}
