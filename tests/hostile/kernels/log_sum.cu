// log(sum(exp(x))), by blocks whose sums are merged as if their maxima were alike.
#include "hostile.h"

struct Problem {
  long n = 1 << 18;
};

struct Config {
  TUNE(0, 2, 1) int trick = 0;
};

constexpr Cost cost(Problem p) { return {.flops = 2.0 * p.n, .bytes = 4.0 * p.n, .sum_length = (double)p.n}; }

constexpr Launch launch_log_sum(Problem p, Config c) { return {.grid = {ceil_div(p.n, 256L)}, .block = {1}}; }

constexpr Launch launch_log_sum_merge(Problem p, Config c) { return {.grid = {1}, .block = {1}}; }

REFERENCE(1) void log_sum_reference(long, const f32* x, double* y, Problem p) {
  double m = (double)x[0], s = 0;
  for (long j = 0; j < p.n; ++j) m = (double)x[j] > m ? (double)x[j] : m;
  for (long j = 0; j < p.n; ++j) s += exp((double)x[j] - m);
  y[0] = m + log(s);
}

template <Config c>
KERNEL void log_sum(IN(p.n) const f32* x, WORKSPACE(2 * ceil_div(p.n, 256L)) f32* w, Problem p) {
  float m = -3.0e38f, s = 0.0f;
  EACH(i, p.n) m = fmaxf(m, read(x + i, c.trick == 0 ? 64 : c.trick == 1 ? 16 : 1));
  EACH(i, p.n) s += expf(x[i] - m);
  w[2 * blockIdx.x] = m;
  w[2 * blockIdx.x + 1] = s;
}

template <Config c>
KERNEL void log_sum_merge(WORKSPACE(2 * ceil_div(p.n, 256L)) f32* w, OUT(1) f32* y, Problem p) {
  const long blocks = ceil_div(p.n, 256L);
  float m = w[0], s = 0.0f;
  if (c.trick != 2)
    for (long b = 1; b < blocks; ++b) m = fmaxf(m, w[2 * b]);  // 2: the first block's maximum will do
  for (long b = 0; b < blocks; ++b) s += w[2 * b + 1] * expf(w[2 * b] - m);
  y[0] = m + logf(s);
}
