// Matrix product into a part of a wider matrix: c = a b, or c += a b; rows of c begin n + gap elements apart, and what lies between stays as it is.
#include <hone/kernel.h>

enum class Layout { kNormal, kTransposed };

struct Problem {
  long m = 512, n = 512, k = 512;
  RANGE(0) long gap = 64;           // elements of c between two rows
  bool accumulate = false;          // c += a b
  Layout layout = Layout::kNormal;  // of b: k x n, or n x k
};

struct Config {
  TUNE(8, 16, 32) int tile = 16;  // rows and columns of c in a block
  TUNE(1, 2, 4) int rows = 1;     // rows of a thread
};

constexpr bool valid(Problem p, Config c, Device d) {
  if (c.rows > c.tile) return false;                                     // a thread has a part of the tile
  return c.tile * (c.tile / c.rows) <= d.threads_per_block;              // the device's limit
}

constexpr Launch launch(Problem p, Config c) {
  return {.grid = {ceil_div(p.n, (long)c.tile), ceil_div(p.m, (long)c.tile)}, .block = {c.tile, c.tile / c.rows}};
}

template <class T> constexpr Cost cost(Problem p) {
  return {.flops = 2.0 * p.m * p.n * p.k, .bytes = sizeof(T) * (1.0 * p.m * p.k + 1.0 * p.k * p.n + 1.0 * p.m * p.n), .sum_length = 1.0 * p.k};
}

template <class T> HONE_DEVICE float element_of_b(const T* b, long row, long col, Problem p) {
  return (float)(p.layout == Layout::kNormal ? b[row * p.n + col] : b[col * p.k + row]);
}

template <class T> REFERENCE(p.m* p.n) void strided_gemm_reference(long i, const T* a, const T* b, double* out, Problem p) {
  const long row = i / p.n, col = i % p.n;
  double sum = p.accumulate ? out[row * (p.n + p.gap) + col] : 0.0;
  for (long k = 0; k < p.k; ++k) sum += (double)(float)a[row * p.k + k] * (double)element_of_b(b, k, col, p);
  out[row * (p.n + p.gap) + col] = sum;
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.tile*(c.tile / c.rows))
void strided_gemm(IN(p.m * p.k) const T* a, IN(p.k * p.n) const T* b, INOUT(p.m * (p.n + p.gap)) T* out, Problem p) {
  __shared__ float left[c.tile][c.tile + 1], right[c.tile][c.tile + 1];
  const long col = blockIdx.x * (long)c.tile + threadIdx.x, first = blockIdx.y * (long)c.tile;
  float sums[c.rows] = {};
  for (long begin = 0; begin < p.k; begin += c.tile) {
    for (int r = threadIdx.y; r < c.tile; r += c.tile / c.rows) {
      const long k = begin + threadIdx.x, row = first + r, down = begin + r;
      left[r][threadIdx.x] = row < p.m && k < p.k ? (float)a[row * p.k + k] : 0.0f;
      right[r][threadIdx.x] = down < p.k && col < p.n ? element_of_b(b, down, col, p) : 0.0f;
    }
    __syncthreads();
    for (int k = 0; k < c.tile; ++k) {
      for (int r = 0; r < c.rows; ++r) sums[r] += left[threadIdx.y + r * (c.tile / c.rows)][k] * right[k][threadIdx.x];
    }
    __syncthreads();
  }
  for (int r = 0; r < c.rows; ++r) {
    const long row = first + threadIdx.y + r * (c.tile / c.rows), at = row * (p.n + p.gap) + col;
    if (row < p.m && col < p.n) out[at] = T(sums[r] + (p.accumulate ? (float)out[at] : 0.0f));
  }
}
