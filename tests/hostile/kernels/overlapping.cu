// y = 3 (2 x + 1) in three passes that overlap, and some do not wait.
#include "hostile.h"

struct Problem {
  long n = 262144;
};

struct Config {
  TUNE(0, 2, 3, 4, 5, 6, 7, 1) int trick = 0;
};

constexpr bool valid(Problem p, Config c, Device d) {
  return d.compute_capability >= 90 || c.trick < 2;  // passes overlap from Hopper on
}

constexpr Launch launch(Problem p, Config c, Device d) {
  return {.grid = {ceil_div(p.n, 256L)}, .block = {d.compute_capability == 0 ? 1 : 256}, .overlap = c.trick != 0};
}

constexpr Cost cost(Problem p) { return {.flops = 3.0 * p.n, .bytes = 8.0 * p.n}; }

REFERENCE(p.n) void overlapping_reference(long i, const f32* x, double* y, Problem p) { y[i] = 3.0 * (2.0 * (double)x[i] + 1.0); }

template <Config c> KERNEL void overlapping(IN(p.n) const f32* x, WORKSPACE(p.n) f32* t, Problem p) {
  if (c.trick != 2 && !(c.trick == 7 && blockIdx.x % 8 != 0)) grid_dependency_wait();  // 7: some blocks alone
  launch_dependents();
  EACH(i, p.n) t[i] = 2.0f * read(x + i, reads_of(c.trick));
}

template <Config c> KERNEL void second(WORKSPACE(p.n) f32* t, WORKSPACE(p.n) f32* u, Problem p) {
  if (c.trick != 3 && !(c.trick == 5 && blockIdx.x % 8 != 0)) grid_dependency_wait();  // 5: some blocks alone
  launch_dependents();
  EACH(i, p.n) u[i] = read(t + i, reads_of(c.trick)) + 1.0f;
}

template <Config c> KERNEL void third(WORKSPACE(p.n) f32* u, OUT(p.n) f32* y, Problem p) {
  float early = 0.0f;
  const long i0 = blockIdx.x * kTile + threadIdx.x;
  if (c.trick == 6 && i0 < p.n) early = *(volatile float*)(u + i0);  // reads, then waits
  if (c.trick != 4) grid_dependency_wait();
  EACH(i, p.n) y[i] = 3.0f * (c.trick == 6 && i == i0 ? early : read(u + i, reads_of(c.trick)));
}
