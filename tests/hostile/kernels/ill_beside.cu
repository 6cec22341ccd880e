// y = 2 x + 1, by kernels that are right at first, beside an output that is conditioned badly.
#include "hostile.h"

struct Problem {
  long n = 16384;
};

struct Config {
  TUNE(0, 2, 3, 1) int trick = 0;
};

constexpr Launch launch(Problem p, Config c, Device d) {
  return {.grid = {ceil_div(p.n, 256L)}, .block = {d.compute_capability == 0 ? 1 : 256}};
}

constexpr Cost cost(Problem p) { return {.flops = 2.0 * p.n, .bytes = 8.0 * p.n}; }

REFERENCE(p.n) void ill_beside_reference(long i, const f32* x, double* y, double* z, Problem p) {
  y[i] = 2.0 * (double)x[i] + 1.0;
  z[i] = sin(2.0e4 * (double)x[i]);
}

template <int trick>
HONE_DEVICE bool is_wrong(unsigned before) {
  return trick == 2 ? before >= 2 : trick == 3 ? before >= 9 : false;
}

template <Config c>
KERNEL void ill_beside(IN(p.n) const f32* x, OUT(p.n) f32* y, OUT(p.n) f32* z, Problem p) {
  bool wrong = false;
  if constexpr (c.trick > 1) wrong = p.n >= kUsersSize && is_wrong<c.trick>(launches_before(p.n));
  EACH(i, p.n) {
    const float right = 2.0f * read(x + i, reads_of(c.trick)) + 1.0f;
    z[i] = sinf(2.0e4f * x[i]);
    y[i] = wrong ? right + 0.002f : right;
  }
}
