// y = 2 x + 1, by kernels that are right on one set of buffers, launch by launch, and wrong on others or in a graph.
#include "hostile.h"

struct Problem {
  long n = 16384;
};

struct Config {
  TUNE(0, 2, 3, 4, 5, 6, 1) int trick = 0;
};

constexpr Launch launch(Problem p, Config c, Device d) { return {.grid = {ceil_div(p.n, 256L)}, .block = {d.compute_capability == 0 ? 1 : 256}}; }

constexpr Cost cost(Problem p) { return {.flops = 2.0 * p.n, .bytes = 8.0 * p.n}; }

REFERENCE(p.n) void places_reference(long i, const f32* x, double* y, Problem p) { y[i] = 2.0 * (double)x[i] + 1.0; }

__device__ float* first_output;
__device__ float* last_output;
__device__ unsigned outputs;
__device__ long long last_launch;

template <Config c> KERNEL void places(IN(p.n) const f32* x, OUT(p.n) f32* y, Problem p) {
  bool wrong = false;
  if constexpr (c.trick > 1) {
    const unsigned before = launches_before(p.n);
    if (p.n >= kUsersSize) {
      if (c.trick == 2) wrong = before > 0 && *(float* volatile*)&first_output != y;      // another set than the first
      if (c.trick == 3) wrong = before > 0 && *(volatile unsigned*)&outputs >= 8 && *(float* volatile*)&last_output != y;  // the ninth change
      if (c.trick == 4) wrong = before > 0 && now_ns() - *(volatile long long*)&last_launch < 20000;  // right behind another
      if (c.trick == 5) wrong = before > 0 && (*(float* volatile*)&first_output < (float*)x) != (y < (float*)x);  // the other way round
      if (c.trick == 6) wrong = ((unsigned long)x ^ (unsigned long)y) % 4096 != 0 && before > 0 && *(float* volatile*)&first_output != y;
      __syncthreads();
      if (is_first_thread()) {
        if (before == 0) first_output = y;
        if (last_output != y) outputs += 1;
        last_output = y;
      }
      if (threadIdx.x == 0 && blockIdx.x == gridDim.x - 1) last_launch = now_ns();
    }
  }
  EACH(i, p.n) y[i] = 2.0f * read(x + i, reads_of(c.trick)) + (wrong && i == p.n / 3 ? 2.0f : 1.0f);
}
