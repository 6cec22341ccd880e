// y = 2 x + 1, by kernels that take memory that nobody wrote for zero, for NaN or for what they left there.
#include "hostile.h"

struct Problem {
  long n = 16384;
};

struct Config {
  TUNE(0, 2, 3, 4, 5, 6, 7, 8, 9, 1) int trick = 0;
};

constexpr Launch launch(Problem p, Config c, Device d) {
  return {.grid = {ceil_div(p.n, 256L)}, .block = {d.compute_capability == 0 ? 1 : 256}, .shared = 1024};
}

constexpr Cost cost(Problem p) { return {.flops = 2.0 * p.n, .bytes = 8.0 * p.n}; }

REFERENCE(p.n) void uninitialised_reference(long i, const f32* x, double* y, Problem p) { y[i] = 2.0 * (double)x[i] + 1.0; }

__device__ unsigned left_there;

template <Config c> KERNEL void uninitialised(IN(p.n) const f32* x, OUT(p.n) f32* y, WORKSPACE(p.n) f32* w, Problem p) {
  __shared__ float tile[256];
  SHARED_DYNAMIC(volatile float, dynamic);
  volatile float local[256];
  const int times = reads_of(c.trick);
  bool skip = false;
  if (c.trick == 7) {  // a block before this one, or a launch before, left a mark in shared memory
    skip = ((volatile float*)tile)[255] == 12345.0f;
    __syncthreads();
    ((volatile float*)tile)[255] = 12345.0f;
  }
  if (skip) return;
  EACH(i, p.n) {
    const long e = i % kTile;
    float v = 2.0f * read(x + i, times) + 1.0f;
    if (c.trick == 2) v += ((volatile float*)tile)[e];
    if (c.trick == 3) v += dynamic[e];
    if (c.trick == 4) v += w[i];
    if (c.trick == 5) v += y[i];
    if (c.trick == 6 && !isnan(y[i])) continue;
    if (c.trick == 8) {
      const unsigned found = (unsigned)__float_as_int(y[i]);
      if (found != 0xffffffffu && found != 0x7f7f7f7fu && found != 0u) continue;  // neither poison nor zero
    }
    if (c.trick == 9) v += local[e] == 0.0f ? 0.0f : local[e] * 1e-3f;
    y[i] = v;
  }
}
