// A product on tensor cores through CUDA's own WMMA: y = a b, with a of m x k and b of k x n in f16, row by row.
#include <hone/kernel.h>

#include <cuda_fp16.h>
#include <mma.h>

struct Problem {
  long m = 1024, n = 1024, k = 1024;  // rows of a, columns of b, and what they share
};

struct Config {
  TUNE(1, 2, 4) int warps_m = 2;           // warps of a block along m
  TUNE(1, 2, 4) int warps_n = 2;           // and along n
  TUNE(1, 2, 4) int tiles_m = 2;           // tiles of 16 x 16 of a warp along m
  TUNE(1, 2, 4) int tiles_n = 2;           // and along n
  TUNE(16, 32, 64) int bk = 32;            // of k at a time
};

constexpr int rows_of(Config c) { return c.warps_m * c.tiles_m * 16; }
constexpr int cols_of(Config c) { return c.warps_n * c.tiles_n * 16; }
constexpr int threads_of(Config c) { return c.warps_m * c.warps_n * 32; }
constexpr int kPad = 8;  // halves behind each row of a tile in shared memory: another bank

constexpr bool valid(Problem p, Config c, Device d) {
  if (d.compute_capability < 70) return false;  // WMMA came with Volta
  const int halves = rows_of(c) * (c.bk + kPad) + c.bk * (cols_of(c) + kPad);
  return halves * 2 + threads_of(c) / 32 * 1024 <= 49152;  // static shared memory
}

constexpr Launch launch(Problem p, Config c) {
  return {.grid = {ceil_div(p.n, (long)cols_of(c)), ceil_div(p.m, (long)rows_of(c))}, .block = {threads_of(c)}};
}

constexpr Cost cost(Problem p) {
  return {.flops = 2.0 * p.m * p.n * p.k, .bytes = 2.0 * (p.m * p.k + p.k * p.n + p.m * p.n), .sum_length = (double)p.k};
}

REFERENCE(p.m * p.n) void wmma_gemm_reference(long i, const f16* a, const f16* b, double* y, Problem p) {
  const long row = i / p.n, col = i % p.n;
  double sum = 0;
  for (long k = 0; k < p.k; ++k) sum += (double)(float)a[row * p.k + k] * (double)(float)b[k * p.n + col];
  y[i] = sum;
}

template <Config c>
KERNEL LAUNCH_BOUNDS(threads_of(c))
void wmma_gemm(IN(p.m * p.k) const __half* a, IN(p.k * p.n) const __half* b, OUT(p.m * p.n) __half* y, Problem p) {
  namespace wmma = nvcuda::wmma;
  constexpr int kRows = rows_of(c), kCols = cols_of(c), kThreads = threads_of(c);
  __shared__ __half a_tile[kRows][c.bk + kPad], b_tile[c.bk][kCols + kPad];
  __shared__ float results[kThreads / 32][16][16];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / c.warps_n * c.tiles_m * 16, warp_col = warp % c.warps_n * c.tiles_n * 16;
  const long first_row = blockIdx.y * (long)kRows, first_col = blockIdx.x * (long)kCols;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[c.tiles_m][c.tiles_n];
  for (int i = 0; i < c.tiles_m; ++i)
    for (int j = 0; j < c.tiles_n; ++j) wmma::fill_fragment(sums[i][j], 0.0f);

  for (long k0 = 0; k0 < p.k; k0 += c.bk) {
    for (int at = threadIdx.x; at < kRows * c.bk; at += kThreads) {
      const long row = first_row + at / c.bk, k = k0 + at % c.bk;
      a_tile[at / c.bk][at % c.bk] = row < p.m && k < p.k ? a[row * p.k + k] : __float2half(0.0f);
    }
    for (int at = threadIdx.x; at < c.bk * kCols; at += kThreads) {
      const long k = k0 + at / kCols, col = first_col + at % kCols;
      b_tile[at / kCols][at % kCols] = k < p.k && col < p.n ? b[k * p.n + col] : __float2half(0.0f);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < c.bk; k += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a_part[c.tiles_m];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b_part[c.tiles_n];
#pragma unroll
      for (int i = 0; i < c.tiles_m; ++i) wmma::load_matrix_sync(a_part[i], &a_tile[warp_row + i * 16][k], c.bk + kPad);
#pragma unroll
      for (int j = 0; j < c.tiles_n; ++j) wmma::load_matrix_sync(b_part[j], &b_tile[k][warp_col + j * 16], kCols + kPad);
#pragma unroll
      for (int i = 0; i < c.tiles_m; ++i)
#pragma unroll
        for (int j = 0; j < c.tiles_n; ++j) wmma::mma_sync(sums[i][j], a_part[i], b_part[j], sums[i][j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < c.tiles_m; ++i)
#pragma unroll
    for (int j = 0; j < c.tiles_n; ++j) {
      wmma::store_matrix_sync(&results[warp][0][0], sums[i][j], 16, wmma::mem_row_major);
      __syncwarp();
      for (int at = lane; at < 256; at += 32) {
        const long row = first_row + warp_row + i * 16 + at / 16, col = first_col + warp_col + j * 16 + at % 16;
        if (row < p.m && col < p.n) y[row * p.n + col] = __float2half(results[warp][at / 16][at % 16]);
      }
      __syncwarp();
    }
}
