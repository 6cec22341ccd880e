// Scatter: y[to[i]] = x[i], with places that are all different; what nothing is written to keeps what it holds.
#include <hone/kernel.h>

struct Problem {
  long n = 1L << 20;       // elements that move
  long places = 1L << 21;  // that they may go to
};

struct Config {
  TUNE(64, 128, 256, 512) int block = 256;  // threads in a block
  TUNE(1, 2, 4, 8) int items = 1;           // of a thread
};

constexpr bool valid(Problem p, Config c, Device d) {
  if (p.n > p.places) return false;  // they do not all have a place
  return c.block <= d.threads_per_block;
}

constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block * c.items)}, .block = {c.block}}; }

template <class T> constexpr Cost cost(Problem p) { return {.bytes = p.n * (2.0 * sizeof(T) + 4.0)}; }

template <class T> REFERENCE(p.n) void scatter_reference(long i, const T* x, const i32* to, double* y) { y[to[i]] = (double)(float)x[i]; }

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.block)
void scatter(IN(p.n) const T* x, IN(p.n, .below = p.places, .distinct) const i32* to, INOUT(p.places) T* y, Problem p) {
  for (int k = 0; k < c.items; ++k) {
    const long i = ((long)blockIdx.x * c.items + k) * c.block + threadIdx.x;
    if (i < p.n) y[to[i]] = x[i];
  }
}
