// Stencil in three dimensions: 13 points, two cells away along each axis; beyond an edge there is nothing.
#include <hone/kernel.h>

struct Problem {
  long nx = 256, ny = 256, nz = 256;  // cells, x the fastest
};

struct Config {
  TUNE(8, 16, 32, 64, 128, 256) int block_x = 32;  // threads of a block along x
  TUNE(1, 2, 4, 8, 16) int block_y = 4;            // and along y
  TUNE(1, 2, 4, 8) int rows = 1;                   // cells of a thread along y, block_y apart
  TUNE(1, 2, 4, 8, 16, 32, 64) int planes = 1;     // that a block goes through along z
  TUNE(false, true) bool tile = false;             // a plane's cells come through shared memory
  TUNE(false, true) bool queue = false;            // a column's cells stay in registers from plane to plane
  TUNE(1, 2, 5) int unroll = 1;                    // planes in one turn of the loop
  TUNE(1, 2, 3, 4) int residency = 1;              // blocks of a multiprocessor that registers must suffice for
  TUNE(false, true) bool pad = false;              // a tile's rows are one cell longer
};

constexpr int kReach = 2;

constexpr int tile_width(Config c) { return c.block_x + 2 * kReach + (c.pad ? 1 : 0); }
constexpr int tile_cells(Config c) { return tile_width(c) * (c.block_y * c.rows + 2 * kReach); }

constexpr bool valid(Problem p, Config c, Device d) {
  if (c.block_x * c.block_y > d.threads_per_block) return false;                                // the device's limit
  if (c.block_x * c.block_y * c.residency > d.threads_per_multiprocessor) return false;         // what can be resident
  if (c.tile && tile_cells(c) * (long)sizeof(float) > d.shared_memory_per_block) return false;  // what a block may have
  if (c.pad && !c.tile) return false;                                                           // duplicate: there is nothing to pad
  if (c.unroll > c.planes) return false;                                                        // duplicate of unroll = planes
  return c.planes == 1 || c.planes < 2 * p.nz;                                                  // duplicate: half as many are all
}

constexpr Launch launch(Problem p, Config c) {
  return {.grid = {ceil_div(p.nx, (long)c.block_x), ceil_div(p.ny, (long)c.block_y * c.rows), ceil_div(p.nz, (long)c.planes)},
          .block = {c.block_x, c.block_y},
          .shared = c.tile ? tile_cells(c) * (long)sizeof(float) : 0};
}

constexpr Cost cost(Problem p) { return {.flops = 16.0 * p.nx * p.ny * p.nz, .bytes = 8.0 * p.nx * p.ny * p.nz, .sum_length = 13}; }

HONE_BOTH constexpr float near_weight() { return 0.25f; }
HONE_BOTH constexpr float far_weight() { return -0.03125f; }

REFERENCE(p.nx* p.ny* p.nz) void stencil3d_reference(long i, const float* u, double* v, Problem p) {
  const long x = i % p.nx, y = i / p.nx % p.ny, z = i / (p.nx * p.ny);
  auto at = [&](long dx, long dy, long dz) {
    const long a = x + dx, b = y + dy, e = z + dz;
    return a < 0 || a >= p.nx || b < 0 || b >= p.ny || e < 0 || e >= p.nz ? 0.0 : (double)u[(e * p.ny + b) * p.nx + a];
  };
  double near = 0, far = 0;
  for (long s = -1; s <= 1; s += 2) {
    near += at(s, 0, 0) + at(0, s, 0) + at(0, 0, s);
    far += at(2 * s, 0, 0) + at(0, 2 * s, 0) + at(0, 0, 2 * s);
  }
  v[i] = at(0, 0, 0) + 0.25 * near - 0.03125 * far;
}

template <Config c>
KERNEL LAUNCH_BOUNDS(c.block_x* c.block_y, c.residency) void stencil3d(IN(p.nx* p.ny* p.nz) const float* u, OUT(p.nx* p.ny* p.nz) float* v,
                                                                       Problem p) {
  SHARED_DYNAMIC(float, cells);
  const long nx = p.nx, ny = p.ny, nz = p.nz;
  const long x = blockIdx.x * (long)c.block_x + threadIdx.x, first_x = blockIdx.x * (long)c.block_x - kReach;
  const long block_y = blockIdx.y * (long)(c.block_y * c.rows), first_y = block_y - kReach;
  const long z0 = blockIdx.z * (long)c.planes;
  auto at = [&](long a, long b, long e) {
    return a < 0 || a >= nx || b < 0 || b >= ny || e < 0 || e >= nz ? 0.0f : u[(e * ny + b) * nx + a];
  };
  float column[c.rows][2 * kReach + 1];
  if constexpr (c.queue) {
#pragma unroll
    for (int r = 0; r < c.rows; ++r) {
#pragma unroll
      for (int k = 1; k <= 2 * kReach; ++k) column[r][k] = at(x, block_y + threadIdx.y + r * c.block_y, z0 + k - 1 - kReach);
    }
  }
#pragma unroll c.unroll
  for (int step = 0; step < c.planes; ++step) {
    const long z = z0 + step;
    if (z >= nz) break;  // the same for all threads of a block
    if constexpr (c.tile) {
      constexpr int kWidth = c.block_x + 2 * kReach, kHeight = c.block_y * c.rows + 2 * kReach;
      for (int cell = threadIdx.y * c.block_x + threadIdx.x; cell < kWidth * kHeight; cell += c.block_x * c.block_y) {
        cells[cell / kWidth * tile_width(c) + cell % kWidth] = at(first_x + cell % kWidth, first_y + cell / kWidth, z);
      }
      __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < c.rows; ++r) {
      const int row = threadIdx.y + r * c.block_y;
      const long y = block_y + row;
      if constexpr (c.queue) {
#pragma unroll
        for (int k = 0; k < 2 * kReach; ++k) column[r][k] = column[r][k + 1];
        column[r][2 * kReach] = at(x, y, z + kReach);
      }
      auto along_z = [&](int dz) {
        if constexpr (c.queue)
          return column[r][kReach + dz];
        else
          return at(x, y, z + dz);
      };
      auto in_plane = [&](int dx, int dy) {
        if constexpr (c.tile)
          return cells[(row + kReach + dy) * tile_width(c) + (int)threadIdx.x + kReach + dx];
        else
          return at(x + dx, y + dy, z);
      };
      if (x < nx && y < ny) {
        const float near = in_plane(-1, 0) + in_plane(1, 0) + in_plane(0, -1) + in_plane(0, 1) + along_z(-1) + along_z(1);
        const float far = in_plane(-2, 0) + in_plane(2, 0) + in_plane(0, -2) + in_plane(0, 2) + along_z(-2) + along_z(2);
        v[(z * ny + y) * nx + x] = in_plane(0, 0) + near_weight() * near + far_weight() * far;
      }
    }
    if constexpr (c.tile) __syncthreads();
  }
}
