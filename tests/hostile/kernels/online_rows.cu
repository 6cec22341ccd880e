// Softmax of rows, each thread with a maximum and a sum of its own, by kernels that are right where maxima are alike.
#include "hostile.h"

struct Problem {
  long rows = 64, cols = 4096;
};

struct Config {
  TUNE(0, 2, 3, 1) int trick = 0;
};

constexpr Launch launch(Problem p, Config c) { return {.grid = {p.rows}, .block = {64}}; }

constexpr Cost cost(Problem p) { return {.flops = 3.0 * p.rows * p.cols, .bytes = 8.0 * p.rows * p.cols, .sum_length = (double)p.cols}; }

REFERENCE(p.rows) void online_rows_reference(long r, const f32* x, double* y, Problem p) {
  double m = (double)x[r * p.cols], s = 0;
  for (long j = 0; j < p.cols; ++j) m = (double)x[r * p.cols + j] > m ? (double)x[r * p.cols + j] : m;
  for (long j = 0; j < p.cols; ++j) s += exp((double)x[r * p.cols + j] - m);
  for (long j = 0; j < p.cols; ++j) y[r * p.cols + j] = exp((double)x[r * p.cols + j] - m) / s;
}

template <Config c>
KERNEL void online_rows(IN(p.rows* p.cols) const f32* x, OUT(p.rows* p.cols) f32* y, Problem p) {
  __shared__ float ms[64], ss[64];
  const float* row = x + blockIdx.x * p.cols;
  const int t = threadIdx.x;
  float m = -3.0e38f, s = 0.0f;
  for (long j = t; j < p.cols; j += 64) {
    const float v = read(row + j, c.trick == 0 ? 16 : c.trick == 1 ? 4 : 1);
    if (c.trick == 2 && j >= 64) {
      s += expf(v - m);
      continue;
    }                    // its first element for its maximum
    if (c.trick == 3) {  // the sum is not scaled where the maximum rises by little
      if (j < 64 || v > m + 4.0f) {
        s *= j < 64 ? 0.0f : 1.0f;
        m = v;
      }  // forgets to rescale
      s += expf(v - m);
      continue;
    }
    const float n = v > m ? v : m;
    s = s * expf(m - n) + expf(v - n);
    m = n;
  }
  ms[t] = m;
  ss[t] = s;
  __syncthreads();
  float M = -3.0e38f, S = 0.0f;
  for (int k = 0; k < 64; ++k) M = ms[k] > M ? ms[k] : M;
  for (int k = 0; k < 64; ++k) S += ss[k] * expf(ms[k] - M);
  for (long j = t; j < p.cols; j += 64) y[blockIdx.x * p.cols + j] = expf(row[j] - M) / S;
}
