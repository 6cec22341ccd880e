// Points that move with their velocities for a while: x, y, z and a mass that stays.
#include <hone/kernel.h>

struct Problem {
  long n = 1L << 24;  // points
};

struct Config {
  TUNE(64, 128, 256, 512, 1024) int block = 256;  // threads in a block
  TUNE(1, 2, 4) int items = 1;                    // points of a thread
};

constexpr bool valid(Problem p, Config c, Device d) { return c.block <= d.threads_per_block; }

constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block * c.items)}, .block = {c.block}}; }

constexpr Cost cost(Problem p) { return {.flops = 6.0 * p.n, .bytes = 48.0 * p.n}; }

// Inputs as the kernel has them, outputs as the elements of their vectors.
REFERENCE(p.n) void move_points_reference(long i, const float4* velocity, double* point, float time, Problem p) {
  point[4 * i] += (double)velocity[i].x * time;
  point[4 * i + 1] += (double)velocity[i].y * time;
  point[4 * i + 2] += (double)velocity[i].z * time;
}

template <Config c>
KERNEL LAUNCH_BOUNDS(c.block)
void move_points(IN(p.n) const float4* velocity, INOUT(p.n) float4* point, SCALAR(0.25) float time, Problem p) {
#pragma unroll
  for (int item = 0; item < c.items; ++item) {
    const long i = ((long)blockIdx.x * c.items + item) * c.block + threadIdx.x;
    if (i < p.n) {
      const float4 by = velocity[i];
      float4 at = point[i];
      at.x += by.x * time;
      at.y += by.y * time;
      at.z += by.z * time;
      point[i] = at;
    }
  }
}
