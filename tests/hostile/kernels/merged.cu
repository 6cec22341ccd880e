// The largest element and its place, the first of equal ones, by blocks whose results are merged as if none were equal or negative.
#include "hostile.h"

struct Problem {
  long n = 1 << 18;
};

struct Config {
  TUNE(0, 2, 3, 1) int trick = 0;
};

constexpr Cost cost(Problem p) { return {.flops = 1.0 * p.n, .bytes = 4.0 * p.n}; }

constexpr Launch launch_merged(Problem p, Config c) { return {.grid = {ceil_div(p.n, 256L)}, .block = {1}}; }

constexpr Launch launch_merged_merge(Problem p, Config c) { return {.grid = {1}, .block = {1}}; }

REFERENCE(1) void merged_reference(long, const f32* x, double* index, double* value, Problem p) {
  long best = 0;
  for (long j = 1; j < p.n; ++j)
    if ((double)x[j] > (double)x[best]) best = j;
  index[0] = (double)best;
  value[0] = (double)x[best];
}

template <Config c>
KERNEL void merged(IN(p.n) const f32* x, WORKSPACE(ceil_div(p.n, 256L)) i32* w, Problem p) {
  long best = blockIdx.x * 256L;
  EACH(i, p.n) if (read(x + i, reads_of(c.trick)) > x[best]) best = i;
  w[blockIdx.x] = (int)best;
}

template <Config c>
KERNEL void merged_merge(IN(p.n) const f32* x, WORKSPACE(ceil_div(p.n, 256L)) i32* w, OUT(1) i32* index, OUT(1) f32* value, Problem p) {
  const long blocks = ceil_div(p.n, 256L);
  int best = w[0];
  float top = c.trick == 3 && blocks > 1 ? 0.0f : x[best];  // 3: begins at 0 where there are several blocks
  for (long b = c.trick == 3 ? 0 : 1; b < blocks; ++b)
    if (c.trick == 2 ? x[w[b]] >= top : x[w[b]] > top) {
      best = w[b];
      top = x[best];
    }  // 2: the last of equal ones
  index[0] = best;
  value[0] = top;
}
