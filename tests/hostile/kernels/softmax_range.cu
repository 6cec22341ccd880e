// Row-wise softmax, by kernels that do without the maximum of the row or have another one.
#include "hostile.h"

struct Problem {
  long rows = 256, cols = 128;
};

struct Config {
  TUNE(0, 2, 3, 4, 5, 6, 1) int trick = 0;
};

constexpr Launch launch(Problem p, Config c, Device d) { return {.grid = {p.rows}, .block = {d.compute_capability == 0 ? 1 : 32}}; }

constexpr Cost cost(Problem p) { return {.flops = 5.0 * p.rows * p.cols, .bytes = 8.0 * p.rows * p.cols, .sum_length = 1.0 * p.cols}; }

REFERENCE(p.rows) void softmax_range_reference(long row, const f32* x, double* y, Problem p) {
  const float* in = x + row * p.cols;
  double most = (double)in[0], sum = 0.0;
  for (long i = 1; i < p.cols; ++i) most = (double)in[i] > most ? (double)in[i] : most;
  for (long i = 0; i < p.cols; ++i) sum += exp((double)in[i] - most);
  for (long i = 0; i < p.cols; ++i) y[row * p.cols + i] = exp((double)in[i] - most) / sum;
}

template <Config c> KERNEL void softmax_range(IN(p.rows * p.cols) const f32* x, OUT(p.rows * p.cols) f32* y, Problem p) {
  const float* in = x + blockIdx.x * p.cols;
  float* out = y + blockIdx.x * p.cols;
  const int times = reads_of(c.trick);
  float most = in[0];  // 3: the first element's
  if (c.trick == 2) most = 0.0f;
  if (c.trick == 4) most = 1.0f;  // inputs end there
  if (c.trick < 2 || c.trick == 5) {
    for (long i = 1; i < (c.trick == 5 ? (p.cols + 1) / 2 : p.cols); ++i) most = max(most, read(in + i, times));  // 5: of one half
  }
  if (c.trick == 6) {  // of sizes, not of numbers
    for (long i = 0; i < p.cols; ++i) most = max(most, in[i] < 0.0f ? -in[i] : in[i]);
  }
  float sum = 0.0f;
  for (long i = 0; i < p.cols; ++i) sum += expf(in[i] - most);
  for (long i = threadIdx.x; i < p.cols; i += blockDim.x) out[i] = expf(in[i] - most) / sum;
}
