// A sigmoid that saturates too early, beside large integers, which say nothing of its magnitudes.
#include "hostile.h"

struct Problem {
  long n = 1 << 16;
};

struct Config {
  TUNE(0, 2, 1) int trick = 0;
};

constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, 256L)}, .block = {1}}; }

constexpr Cost cost(Problem p) { return {.flops = 20.0 * p.n, .bytes = 12.0 * p.n}; }

REFERENCE(p.n) void beside_keys_reference(long i, const f32* x, const i32* bits, double* y, Problem p) {
  y[i] = bits[i] % 4 == 0 ? 0.0 : 1.0 / (1.0 + exp(-(double)x[i]));
}

template <Config c>
KERNEL void beside_keys(IN(p.n) const f32* x, IN(p.n, .below = 1 << 30) const i32* bits, OUT(p.n) f32* y, Problem p) {
  EACH(i, p.n) {
    const float v = read(x + i, reads_of(c.trick));
    y[i] = bits[i] % 4 == 0                  ? 0.0f
           : c.trick == 2 && fabsf(v) > 1.0f ? (v > 0.0f ? 1.0f : 0.0f)
                                             : 1.0f / (1.0f + expf(-v));  // 2: saturates early
  }
}
