// y = 2 x + z + 1, by kernels that take buffers for aligned to more than 16 bytes: what begins elsewhere is read or written too early.
#include "hostile.h"

struct Problem {
  long n = 16384;
};

struct Config {
  TUNE(0, 2, 3, 4, 5, 6, 7, 8, 1) int trick = 0;
};

constexpr Launch launch(Problem p, Config c, Device d) { return {.grid = {ceil_div(p.n, 256L)}, .block = {d.compute_capability == 0 ? 1 : 256}}; }

constexpr Cost cost(Problem p) { return {.flops = 2.0 * p.n, .bytes = 12.0 * p.n}; }

REFERENCE(p.n) void aligned_reference(long i, const f32* x, const f32* z, double* y, Problem p) { y[i] = 2.0 * (double)x[i] + (double)z[i] + 1.0; }

template <class X> HONE_DEVICE X* down_to(X* at, unsigned long bytes) { return (X*)((unsigned long)at & ~(bytes - 1)); }

template <Config c>
KERNEL void aligned(IN(p.n) const f32* x, IN(p.n) const f32* z, OUT(p.n) f32* y, WORKSPACE(p.n) f32* w, Problem p) {
  if (c.trick == 2) x = down_to(x, 32);
  if (c.trick == 3) x = down_to(x, 64);
  if (c.trick == 4) x = down_to(x, 256);
  if (c.trick == 5) y = down_to(y, 128);
  if (c.trick == 6) w = down_to(w, 128);
  if (c.trick == 7) z = (const float*)((unsigned long)z & ~255UL | (unsigned long)x & 255UL);  // as far off as x
  EACH(i, p.n) {
    const float v = read(x + i, reads_of(c.trick));
    if (c.trick == 8) {  // a whole line of 128 bytes at a time, wherever it begins
      const float* line = down_to(x + i, 128);
      y[i] = 2.0f * line[i % 32] + z[i] + 1.0f;
    } else if (c.trick == 6) {
      *(volatile float*)(w + i) = v;
      y[i] = 2.0f * *(volatile float*)(w + i) + z[i] + 1.0f;
    } else {
      y[i] = 2.0f * v + z[i] + 1.0f;
    }
  }
}
