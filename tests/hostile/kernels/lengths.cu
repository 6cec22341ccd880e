// y = 2 x + 1 of an array, by kernels that are wrong at some lengths.
#include "hostile.h"

struct Problem {
  long n = 16383;
};

struct Config {
  TUNE(0, 2, 3, 4, 5, 6, 7, 8, 1) int trick = 0;
};

constexpr Launch launch(Problem p, Config c, Device d) { return {.grid = {ceil_div(p.n, 256L)}, .block = {d.compute_capability == 0 ? 1 : 256}}; }

constexpr Cost cost(Problem p) { return {.flops = 2.0 * p.n, .bytes = 8.0 * p.n}; }

REFERENCE(p.n) void lengths_reference(long i, const f32* x, double* y, Problem p) { y[i] = 2.0 * (double)x[i] + 1.0; }

template <Config c> KERNEL void lengths(IN(p.n) const f32* x, OUT(p.n) f32* y, Problem p) {
  const bool wrong = c.trick == 2   ? p.n % 2 == 0
                     : c.trick == 3 ? p.n % 4 == 0 && p.n >= 64
                     : c.trick == 4 ? p.n % 64 == 0
                     : c.trick == 5 ? p.n % 256 == 0
                     : c.trick == 6 ? p.n == 1
                     : c.trick == 7 ? p.n == 2 || p.n == 3
                     : c.trick == 8 ? p.n < 32
                                    : false;
  EACH(i, p.n) {
    const float right = 2.0f * read(x + i, reads_of(c.trick)) + 1.0f;
    y[i] = wrong && i == p.n - 1 ? right - 1.0f : right;
  }
}
