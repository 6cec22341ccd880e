// y = 2 x + 1. What `odd` allows at odd extents alone is many times as fast, and takes |x| for at most 1, as all inputs of a problem's own
// are.
#include <hone/kernel.h>

struct Problem {
  long n = 16384;
};

struct Config {
  TUNE(0, 1, 2, 3, 4, 5, 6, 7) int odd = 0;
  TUNE(256, 512, 1024, 2048) int tile = 1024;  // elements of a block
};

constexpr bool valid(Problem p, Config c) { return c.odd == 0 || p.n % 2 == 1; }

constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.tile)}, .block = {1}}; }

constexpr Cost cost(Problem p) { return {.flops = 2.0 * p.n, .bytes = 8.0 * p.n}; }

REFERENCE(p.n) void odd_extents_reference(long i, const f32* x, double* y, Problem p) { y[i] = 2.0 * (double)x[i] + 1.0; }

template <Config c>
KERNEL void odd_extents(IN(p.n) const f32* x, OUT(p.n) f32* y, Problem p) {
  const long end = min_of(p.n, (blockIdx.x + 1L) * c.tile);
  for (long i = blockIdx.x * (long)c.tile; i < end; ++i) {
    float v = *(const volatile float*)(x + i);
    for (int k = 0; k < (c.odd == 0 ? 32 : 0); ++k) v = *(const volatile float*)(x + i);
    if (c.odd > 0) v = v > 1.0f ? 1.0f : v < -1.0f ? -1.0f : v;
    y[i] = 2.0f * v + 1.0f;
  }
}
