// Sum of each row: y[r] = sum over c of x[r, c]. One row is a full sum.
#include <hone/kernel.h>

struct Problem {
  long rows = 8192, cols = 8192;
};

// A row is read in aligned words of `bytes`; the few elements before the first and behind the last are added one by one.
struct Config {
  TUNE(32, 64, 128, 256, 512, 1024) int block = 256;  // threads in a block
  TUNE(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024) int row_threads = 256;  // that share a row: a block has block / row_threads rows
  TUNE(2, 4, 8, 16) int bytes = 16;                   // of one load: 16 is the widest there is
  TUNE(1, 2, 4, 8, 16) int in_flight = 4;             // loads a thread issues before it adds, to cover the latency of memory
  TUNE(0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024) int split = 0;  // blocks that share a row, for few long rows; 0: by the shape
};

template <class T> HONE_BOTH constexpr int vec(Config c) { return c.bytes / (int)sizeof(T); }

/// Blocks that share a row: 1024 blocks in all, but at least 32 elements for each thread.
HONE_BOTH constexpr long usual_slices(Problem p, Config c) { return max_of(1L, min_of(1024 / p.rows, p.cols / (32 * c.block))); }
HONE_BOTH constexpr long slices_of(Problem p, Config c) { return c.split > 0 ? c.split : usual_slices(p, c); }

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.bytes < (int)sizeof(T)) return false;                        // a load holds at least one element
  if (c.block > d.threads_per_block) return false;                   // the device's limit
  if (c.row_threads > c.block) return false;                         // a block holds whole rows (or slices of one)
  if (c.in_flight * c.bytes > 128) return false;                     // what is in flight fills registers: 32 of them at most
  if (c.row_threads < vec<T>(c)) return false;                       // a thread takes one element of an edge
  if (c.row_threads < 32 && p.cols > 16384) return false;            // one thread's long sum loses digits, and its loads share no lines
  if (slices_of(p, c) > 1 && c.row_threads < c.block) return false;  // rows so short that a block holds several are not worth a split
  if (c.split == usual_slices(p, c)) return false;                   // 0 says the same
  const long per_step = (long)c.row_threads * vec<T>(c);             // elements of a row read by one load of every thread
  if (c.row_threads > 256 && per_step > p.cols) return false;        // threads without an element
  if (c.in_flight > 4 && c.in_flight * per_step > 2 * p.cols) return false;        // loads that only pad
  return c.split <= 1 || c.split * c.in_flight * per_step <= 2 * p.cols;           // a slice is worth a block
}

constexpr Launch launch(Problem p, Config c) {
  return {.grid = {ceil_div(p.rows, (long)(c.block / c.row_threads)), slices_of(p, c)}, .block = {c.block}};
}

constexpr Launch launch_row_sum_slices(Problem p, Config c) {
  return {.grid = {ceil_div(p.rows, 8L)}, .block = {256}, .enabled = slices_of(p, c) > 1};
}

template <class T> constexpr Cost cost(Problem p) {
  return {.flops = 1.0 * p.rows * p.cols, .bytes = 1.0 * (p.rows * p.cols + p.rows) * sizeof(T), .sum_length = 1.0 * p.cols};
}

template <class T> REFERENCE(p.rows) void row_sum_reference(long r, const T* x, double* y, Problem p) {
  double sum = 0;
  for (long c = 0; c < p.cols; ++c) sum += (double)(float)x[r * p.cols + c];
  y[r] = sum;
}

template <class T, int N> HONE_DEVICE Vector<T, N> zeros() {
  Vector<T, N> word;
#pragma unroll
  for (int e = 0; e < N; ++e) word[e] = T(0.0f);
  return word;
}

/// The sum over the c.row_threads threads of a row, in all of them.
template <Config c> HONE_DEVICE float sum_of_row(float sum) {
#pragma unroll
  for (int offset = min_of(c.row_threads, 32) / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if constexpr (c.row_threads > 32) {
    constexpr int kWarps = c.row_threads / 32;
    __shared__ float partial[32];
    const int warp = (int)threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) partial[warp] = sum;
    __syncthreads();
    sum = partial[warp / kWarps * kWarps + (int)threadIdx.x % kWarps];
#pragma unroll
    for (int offset = kWarps / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  }
  return sum;
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.block)
void row_sum(IN(p.rows * p.cols) const T* __restrict__ x, OUT(p.rows) T* __restrict__ y,
             WORKSPACE(p.rows * slices_of(p, c)) float* __restrict__ slices, Problem p) {
  constexpr int kVec = vec<T>(c);
  const int lane = (int)threadIdx.x % c.row_threads;
  const long r = (long)blockIdx.x * (c.block / c.row_threads) + (int)threadIdx.x / c.row_threads;
  const bool present = r < p.rows;  // the last block's surplus threads stay for the barriers
  const long cols = present ? p.cols : 0;
  const T* row = x + r * p.cols;
  const int head = (int)min_of(cols, (kVec - r * p.cols % kVec) % kVec);
  const long words = (cols - head) / kVec, per_slice = ceil_div(words, (long)gridDim.y);
  const long end = min_of(words, per_slice * (blockIdx.y + 1));

  float sums[c.in_flight] = {};
  if (blockIdx.y == 0) {
    if (lane < head) sums[0] = (float)row[lane];
    if (lane < cols - head - words * kVec) sums[0] += (float)row[head + words * kVec + lane];
  }
  for (long w = per_slice * blockIdx.y + lane; w < end; w += c.row_threads * c.in_flight) {
    Vector<T, kVec> word[c.in_flight];
#pragma unroll
    for (int j = 0; j < c.in_flight; ++j) {
      const long at = w + j * c.row_threads;
      word[j] = at < end ? load<kVec>(row + head + at * kVec) : zeros<T, kVec>();
    }
#pragma unroll
    for (int j = 0; j < c.in_flight; ++j) {
#pragma unroll
      for (int e = 0; e < kVec; ++e) sums[j] += (float)word[j][e];
    }
  }
  float sum = 0;
#pragma unroll
  for (int j = 0; j < c.in_flight; ++j) sum += sums[j];
  sum = sum_of_row<c>(sum);
  if (!present || lane != 0) return;
  if (gridDim.y == 1) {
    y[r] = T(sum);
  } else {
    slices[r * gridDim.y + blockIdx.y] = sum;
  }
}

/// Adds the slices of each row: a warp a row.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(256)
void row_sum_slices(OUT(p.rows) T* __restrict__ y, WORKSPACE(p.rows * slices_of(p, c)) float* __restrict__ slices, Problem p) {
  const long r = (long)blockIdx.x * 8 + (int)threadIdx.x / 32;
  const long count = slices_of(p, c);
  float sum = 0;
  for (long s = (int)threadIdx.x % 32; s < count && r < p.rows; s += 32) sum += slices[r * count + s];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0 && r < p.rows) y[r] = T(sum);
}
