// Inclusive sums along each row, by CUB's block scan; which of its algorithms is a parameter like others.
#include <hone/kernel.h>

#include <cub/block/block_load.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>

struct Problem {
  long rows = 4096, cols = 8192;
};

enum class Algorithm { kRaking, kRakingMemoize, kWarpScans };

struct Config {
  TUNE(64, 128, 256, 512) int block = 128;  // threads; a block has a row
  TUNE(1, 2, 4, 8, 16) int items = 4;       // consecutive elements of a thread
  TUNE(Algorithm::kRaking, Algorithm::kRakingMemoize, Algorithm::kWarpScans) Algorithm algorithm = Algorithm::kWarpScans;
  TUNE(false, true) bool transposed = true;  // whether loads and stores go through shared memory, so that neighbours touch neighbours
};

constexpr bool valid(Problem p, Config c, Device d) {
  return d.compute_capability >= 50;  // what CUB needs
}

constexpr Launch launch(Problem p, Config c) { return {.grid = {p.rows}, .block = {c.block}}; }

constexpr Cost cost(Problem p) { return {.flops = 1.0 * p.rows * p.cols, .bytes = 8.0 * p.rows * p.cols, .sum_length = (double)p.cols}; }

REFERENCE(p.rows) void block_scan_reference(long row, const float* x, double* y, Problem p) {
  double sum = 0;
  for (long col = 0; col < p.cols; ++col) y[row * p.cols + col] = sum += (double)x[row * p.cols + col];
}

template <Config c>
KERNEL LAUNCH_BOUNDS(c.block)
void block_scan(IN(p.rows * p.cols) const float* x, OUT(p.rows * p.cols) float* y, Problem p) {
  constexpr auto kAlgorithm = c.algorithm == Algorithm::kRaking          ? cub::BLOCK_SCAN_RAKING
                              : c.algorithm == Algorithm::kRakingMemoize ? cub::BLOCK_SCAN_RAKING_MEMOIZE
                                                                         : cub::BLOCK_SCAN_WARP_SCANS;
  using Load = cub::BlockLoad<float, c.block, c.items, c.transposed ? cub::BLOCK_LOAD_TRANSPOSE : cub::BLOCK_LOAD_DIRECT>;
  using Store = cub::BlockStore<float, c.block, c.items, c.transposed ? cub::BLOCK_STORE_TRANSPOSE : cub::BLOCK_STORE_DIRECT>;
  using Scan = cub::BlockScan<float, c.block, kAlgorithm>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
    typename Scan::TempStorage scan;
  } shared;
  const float* row = x + blockIdx.x * p.cols;
  float* result = y + blockIdx.x * p.cols;
  float before = 0;  // the sum of what lies left of the tile
  for (long first = 0; first < p.cols; first += c.block * c.items) {
    const int left = (int)min_of(p.cols - first, (long)c.block * c.items);
    float items[c.items], sum;
    Load(shared.load).Load(row + first, items, left, 0.0f);
    __syncthreads();
    Scan(shared.scan).InclusiveSum(items, items, sum);
    __syncthreads();
    for (int i = 0; i < c.items; ++i) items[i] += before;
    before += sum;
    Store(shared.store).Store(result + first, items, left);
    __syncthreads();
  }
}
