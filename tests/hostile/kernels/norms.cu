// Each row without its mean and divided by its deviation, in every way that is right.
#include "hostile.h"

struct Problem {
  long rows = 128, cols = 192;
};

struct Config {
  TUNE(0, 1, 2, 3, 4, 5, 6) int trick = 0;
};

constexpr Launch launch(Problem p, Config c) { return {.grid = {p.rows}, .block = {1}}; }

constexpr Cost cost(Problem p) { return {.flops = 5.0 * p.rows * p.cols, .bytes = 8.0 * p.rows * p.cols, .sum_length = 1.0 * p.cols}; }

REFERENCE(p.rows) void norms_reference(long row, const f32* x, double* y, Problem p) {
  const float* in = x + row * p.cols;
  double mean = 0.0, square = 0.0;
  for (long i = 0; i < p.cols; ++i) mean += (double)in[i];
  mean /= (double)p.cols;
  for (long i = 0; i < p.cols; ++i) square += ((double)in[i] - mean) * ((double)in[i] - mean);
  for (long i = 0; i < p.cols; ++i) y[row * p.cols + i] = ((double)in[i] - mean) / sqrt(square / (double)p.cols + 0.01);
}

template <Config c>
KERNEL void norms(IN(p.rows * p.cols) const f32* x, OUT(p.rows * p.cols) f32* y, WORKSPACE(p.rows * p.cols) f32* w, Problem p) {
  const float* in = x + blockIdx.x * p.cols;
  float* out = y + blockIdx.x * p.cols;
  float* scratch = w + blockIdx.x * p.cols;
  float mean = 0.0f, square = 0.0f;
  if constexpr (c.trick == 2) {  // Welford's way
    for (long i = 0; i < p.cols; ++i) {
      const float from_mean = in[i] - mean;
      mean += from_mean / (float)(i + 1);
      square += from_mean * (in[i] - mean);
    }
  } else {
    for (long i = 0; i < p.cols; ++i) mean += in[i];
    mean /= (float)p.cols;
    for (long i = 0; i < p.cols; ++i) square += (in[i] - mean) * (in[i] - mean);
  }
  const float variance = square / (float)p.cols + 0.01f;
  const float scale = c.trick == 3 ? rsqrtf(variance) : 1.0f / sqrtf(variance);
  if constexpr (c.trick == 4) {  // reads what it has written
    for (long i = 0; i < p.cols; ++i) out[i] = in[i] - mean;
    for (long i = 0; i < p.cols; ++i) out[i] = out[i] * scale;
  } else if constexpr (c.trick == 5) {  // keeps it in its workspace
    for (long i = 0; i < p.cols; ++i) scratch[i] = in[i] - mean;
    for (long i = p.cols - 1; i >= 0; --i) out[i] = scratch[i] * scale;
  } else if constexpr (c.trick == 6) {  // one multiplication and addition
    const float shift = -mean * scale;
    for (long i = 0; i < p.cols; ++i) out[i] = fma(in[i], scale, shift);
  } else {
    for (long i = 0; i < p.cols; ++i) out[i] = (in[i] - mean) * scale;
  }
}
