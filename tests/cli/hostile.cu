// y = 2 x, and every way of getting it wrong: a configuration chooses one.
#include <hone/kernel.h>

struct Problem {
  long n = 1024;
};

struct Config {
  TUNE(0, 1, 2, 3, 4, 5, 6, 7) int behaviour = 0;  // 0 is right
};

constexpr bool valid(Problem p, Config c) { return p.n > 0; }

constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, 64L)}, .block = {64}}; }

template <class T> constexpr Cost cost(Problem p) { return {.flops = 1.0 * p.n, .bytes = 2.0 * p.n * sizeof(T)}; }

template <class T> REFERENCE(p.n) void hostile_reference(long i, const T* x, double* y, Problem p) { y[i] = 2.0 * (double)(float)x[i]; }

template <class T, Config c> KERNEL void hostile(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) {
  static_assert(c.behaviour != 1, "this configuration does not compile");
  const long i = (long)blockIdx.x * 64 + threadIdx.x;
  if (c.behaviour == 2 && i == 0) *(volatile int*)8 = 1;  // crashes
  if (c.behaviour == 3 && i == 0) {                       // hangs
    volatile int forever = 1;
    while (forever) {
    }
  }
  if (c.behaviour == 4) {  // one half waits for the block, the other for a warp that is not there
    if (threadIdx.x % 2 == 0) {
      __syncthreads();
    } else {
      __syncwarp(0xffffffffu);
    }
  }
  if (c.behaviour == 5 && i == 0) y[p.n] = T(1.0f);  // one past the end
  if (i >= p.n) return;
  if (c.behaviour == 6 && i == p.n / 2) return;  // leaves one element out
  y[i] = T((c.behaviour == 7 ? 2.5f : 2.0f) * (float)x[i]);
}
