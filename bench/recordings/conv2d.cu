// Convolution of an image with a small filter: y[r][c] is the sum over a size x size window that begins there.
#include <hone/kernel.h>

struct Problem {
  long rows = 2048, cols = 2048;  // of the result
  STATIC long size = 7;           // of the filter
};

struct Config {
  TUNE(8, 16, 32, 48, 64, 96, 128, 256) int block_x = 32;  // threads along a row
  TUNE(1, 2, 3, 4, 6, 8, 16, 32) int block_y = 4;          // and down
  TUNE(1, 2, 3, 4, 6, 8) int work_x = 1;                   // pixels of a thread along a row
  TUNE(1, 2, 3, 4, 6, 8) int work_y = 1;                   // and down
  TUNE(false, true) bool tile = true;                      // the image comes through shared memory
  TUNE(false, true) bool pad = false;                      // the tile's rows begin in different banks
  TUNE(0, 1, 2) int filter = 0;             // the filter is read from device memory, shared memory, registers of a row's turn
  TUNE(0, 1, 2) int unroll = 2;             // of the window: nothing, a row, all of it
  TUNE(false, true) bool adjacent = false;  // a thread's pixels lie side by side, not block_x apart
};

constexpr int out_x(Config c) { return c.block_x * c.work_x; }
constexpr int out_y(Config c) { return c.block_y * c.work_y; }
constexpr long tile_floats(Problem p, Config c) {
  return c.tile ? (out_x(c) + p.size - 1 + (c.pad ? (33 - (out_x(c) + p.size - 1) % 32) % 32 : 0)) * (out_y(c) + p.size - 1) : 0;
}

constexpr bool valid(Problem p, Config c, Device d) {
  if (c.block_x * c.block_y > d.threads_per_block) return false;  // the device's limit
  if (c.block_x * c.block_y < d.warp_size) return false;          // not a warp
  if ((tile_floats(p, c) + (c.filter == 1 ? p.size * p.size : 0)) * (long)sizeof(float) > d.shared_memory_per_block)
    return false;                                                             // what a block may have
  if (c.pad && (!c.tile || (out_x(c) + p.size - 1) % 32 == 1)) return false;  // duplicate: nothing to pad
  return c.work_x > 1 || !c.adjacent;                                         // duplicate: one pixel
}

constexpr Launch launch(Problem p, Config c) {
  return {.grid = {ceil_div(p.cols, (long)out_x(c)), ceil_div(p.rows, (long)out_y(c))},
          .block = {c.block_x, c.block_y},
          .shared = (tile_floats(p, c) + (c.filter == 1 ? p.size * p.size : 0)) * (long)sizeof(float)};
}

constexpr Cost cost(Problem p) {
  return {.flops = 2.0 * p.rows * p.cols * p.size * p.size, .bytes = 8.0 * p.rows * p.cols, .sum_length = 1.0 * p.size * p.size};
}

REFERENCE(p.rows* p.cols) void conv2d_reference(long i, const float* image, const float* weights, double* y, Problem p) {
  const long row = i / p.cols, col = i % p.cols, width = p.cols + p.size - 1;
  double sum = 0;
  for (long r = 0; r < p.size; ++r) {
    for (long k = 0; k < p.size; ++k) sum += (double)image[(row + r) * width + col + k] * weights[r * p.size + k];
  }
  y[i] = sum;
}

template <Config c>
KERNEL LAUNCH_BOUNDS(c.block_x* c.block_y) void conv2d(IN((p.rows + p.size - 1) * (p.cols + p.size - 1)) const float* image,
                                                       IN(p.size* p.size) const float* weights, OUT(p.rows* p.cols) float* y, Problem p) {
  SHARED_DYNAMIC(float, shared);
  constexpr int kSize = (int)p.size, kWide = c.block_x * c.work_x + kSize - 1, kHigh = c.block_y * c.work_y + kSize - 1;
  constexpr int kPitch = kWide + (c.pad ? (33 - kWide % 32) % 32 : 0);
  constexpr int kRowUnroll = c.unroll == 2 ? kSize : 1, kUnroll = c.unroll >= 1 ? kSize : 1;
  const long width = p.cols + kSize - 1, height = p.rows + kSize - 1;
  const long first_x = blockIdx.x * (long)(c.block_x * c.work_x), first_y = blockIdx.y * (long)(c.block_y * c.work_y);
  const int thread = threadIdx.y * c.block_x + threadIdx.x;
  float* const held = shared + (c.tile ? kPitch * kHigh : 0);
  if constexpr (c.tile) {
    for (int r = threadIdx.y; r < kHigh; r += c.block_y) {
      for (int k = threadIdx.x; k < kWide; k += c.block_x) {
        shared[r * kPitch + k] = first_y + r < height && first_x + k < width ? image[(first_y + r) * width + first_x + k] : 0.0f;
      }
    }
  }
  if constexpr (c.filter == 1) {
    for (int k = thread; k < kSize * kSize; k += c.block_x * c.block_y) held[k] = weights[k];
  }
  if constexpr (c.tile || c.filter == 1) __syncthreads();
  auto x_of = [&](int k) { return c.adjacent ? (int)threadIdx.x * c.work_x + k : (int)threadIdx.x + k * c.block_x; };
  auto y_of = [&](int k) { return (int)threadIdx.y + k * c.block_y; };
  float sum[c.work_y][c.work_x] = {};
#pragma unroll kRowUnroll
  for (int r = 0; r < kSize; ++r) {
    float row[kSize];
    if constexpr (c.filter == 2) {
#pragma unroll
      for (int k = 0; k < kSize; ++k) row[k] = weights[r * kSize + k];
    }
#pragma unroll kUnroll
    for (int k = 0; k < kSize; ++k) {
      float weight;
      if constexpr (c.filter == 2)
        weight = row[k];
      else if constexpr (c.filter == 1)
        weight = held[r * kSize + k];
      else
        weight = weights[r * kSize + k];
#pragma unroll
      for (int b = 0; b < c.work_y; ++b) {
#pragma unroll
        for (int a = 0; a < c.work_x; ++a) {
          if constexpr (c.tile) {
            sum[b][a] += weight * shared[(y_of(b) + r) * kPitch + x_of(a) + k];
          } else {
            const long py = first_y + y_of(b) + r, px = first_x + x_of(a) + k;
            sum[b][a] += weight * (py < height && px < width ? image[py * width + px] : 0.0f);
          }
        }
      }
    }
  }
#pragma unroll
  for (int b = 0; b < c.work_y; ++b) {
#pragma unroll
    for (int a = 0; a < c.work_x; ++a) {
      const long py = first_y + y_of(b), px = first_x + x_of(a);
      if (py < p.rows && px < p.cols) y[py * p.cols + px] = sum[b][a];
    }
  }
}
