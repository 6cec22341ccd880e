// Row-wise softmax: y[r, c] = exp(x[r, c] - max_r) / sum_r.
#include <hone/kernel.h>

struct Problem {
  long rows = 4096, cols = 4096;
};

struct Config {
  TUNE(32, 64, 128, 256, 512, 1024) int block = 256;  // threads in a block; one block a row
  TUNE(1, 2, 4, 8) int vec = 1;                       // elements in one load
  TUNE(false, true) bool online = false;              // maximum and sum in one pass over the row instead of two
};

template <class T> constexpr bool valid(Problem p, Config c) { return p.cols % c.vec == 0 && c.vec * sizeof(T) <= 16; }

constexpr Launch launch(Problem p, Config c) { return {.grid = {p.rows}, .block = {c.block}}; }

template <class T> constexpr Cost cost(Problem p) {
  return {.flops = 5.0 * p.rows * p.cols, .bytes = 2.0 * p.rows * p.cols * sizeof(T), .sum_length = (double)p.cols};
}

template <class T> REFERENCE(p.rows) void softmax_reference(long row, const T* x, double* y, Problem p) {
  double largest = (float)x[row * p.cols], sum = 0;
  for (long c = 0; c < p.cols; ++c) largest = fmax(largest, (double)(float)x[row * p.cols + c]);
  for (long c = 0; c < p.cols; ++c) sum += exp((double)(float)x[row * p.cols + c] - largest);
  for (long c = 0; c < p.cols; ++c) y[row * p.cols + c] = exp((double)(float)x[row * p.cols + c] - largest) / sum;
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.block) void softmax(IN(p.rows * p.cols) const T* x, OUT(p.rows * p.cols) T* y, Problem p) {
  // A first, simple body; kernels_src is being filled.
  const T* row = x + (long)blockIdx.x * p.cols;
  __shared__ float scratch[32];
  float largest = -INFINITY;
  for (long i = threadIdx.x; i < p.cols; i += c.block) largest = fmaxf(largest, (float)row[i]);
  for (int offset = 16; offset > 0; offset /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = largest;
  __syncthreads();
  for (int w = 0; w < c.block / 32; ++w) largest = fmaxf(largest, scratch[w]);
  __syncthreads();
  float sum = 0;
  for (long i = threadIdx.x; i < p.cols; i += c.block) sum += __expf((float)row[i] - largest);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int w = 0; w < c.block / 32; ++w) sum += scratch[w];
  for (long i = threadIdx.x; i < p.cols; i += c.block) y[(long)blockIdx.x * p.cols + i] = T(__expf((float)row[i] - largest) / sum);
}
