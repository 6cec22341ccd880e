// y = 10^5 x, which is infinite in f16 where the reference, rounded to f16, is.
#include "hostile.h"

struct Problem {
  long n = 16384;
};

struct Config {
  TUNE(0, 1, 2) int trick = 0;
};

constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, 256L)}, .block = {64}}; }

template <class T> constexpr Cost cost(Problem p) { return {.flops = 1.0 * p.n, .bytes = 2.0 * p.n * sizeof(T)}; }

template <class T> REFERENCE(p.n) void overflowing_reference(long i, const T* x, double* y, Problem p) { y[i] = (double)(float)T(100000.0f * (float)x[i]); }

template <class T, Config c> KERNEL void overflowing(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) {
  const long end = min_of(p.n, (blockIdx.x + 1L) * kTile);
  for (long i = blockIdx.x * kTile + threadIdx.x; i < end; i += 64) y[i] = T(c.trick == 2 ? (float)(100000.0 * (double)(float)x[i]) : 100000.0f * (float)x[i]);
}
