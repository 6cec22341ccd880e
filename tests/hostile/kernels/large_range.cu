// y = sign(x) (1 + |x|), legal for so many elements alone as no small problem has, by kernels that know only the inputs that are usual.
#include "hostile.h"

struct Problem {
  long n = 1100001;
};

struct Config {
  TUNE(0, 2, 3, 4, 1) int trick = 0;
};

template <class T>
constexpr bool valid(Problem p, Config c) {
  return p.n >= 200000;
}

constexpr Launch launch(Problem p, Config c, Device d) {
  return {.grid = {ceil_div(p.n, 256L)}, .block = {d.compute_capability == 0 ? 1 : 256}};
}

constexpr Cost cost(Problem p) { return {.flops = 2.0 * p.n, .bytes = 8.0 * p.n}; }

REFERENCE(p.n) void large_range_reference(long i, const f32* x, double* y, Problem p) {
  const double v = (double)x[i];
  y[i] = v < 0.0 ? v - 1.0 : 1.0 + v;
}

template <Config c>
KERNEL void large_range(IN(p.n) const f32* x, OUT(p.n) f32* y, Problem p) {
  EACH(i, p.n) {
    float v = read(x + i, reads_of(c.trick));
    const float size = v < 0.0f ? -v : v;
    if (c.trick == 2 && size > 1.0f) v = v < 0.0f ? -1.0f : 1.0f;
    if (c.trick == 4 && i + 1 < p.n && v == x[i + 1]) v = v + 1.0f;  // equal neighbours
    y[i] = c.trick == 3 && v == 0.0f ? 0.0f : v < 0.0f ? v - 1.0f : 1.0f + v;
  }
}
