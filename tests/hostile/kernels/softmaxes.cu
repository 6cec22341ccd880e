// Row-wise softmax, in every way that is right.
#include "hostile.h"

struct Problem {
  long rows = 128, cols = 192;
};

struct Config {
  TUNE(0, 1, 2, 3, 4, 5, 6) int trick = 0;
};

constexpr Launch launch(Problem p, Config c) { return {.grid = {p.rows}, .block = {32}}; }

template <class T> constexpr Cost cost(Problem p) { return {.flops = 5.0 * p.rows * p.cols, .bytes = 2.0 * p.rows * p.cols * sizeof(T), .sum_length = 1.0 * p.cols}; }

template <class T> REFERENCE(p.rows) void softmaxes_reference(long row, const T* x, double* y, Problem p) {
  const T* in = x + row * p.cols;
  double most = (double)(float)in[0], sum = 0.0;
  for (long i = 1; i < p.cols; ++i) most = (double)(float)in[i] > most ? (double)(float)in[i] : most;
  for (long i = 0; i < p.cols; ++i) sum += exp((double)(float)in[i] - most);
  for (long i = 0; i < p.cols; ++i) y[row * p.cols + i] = exp((double)(float)in[i] - most) / sum;
}

HONE_DEVICE float warp_max(float v) {
  for (int half = 16; half > 0; half /= 2) v = max(v, __shfl_xor_sync(0xffffffffu, v, half));
  return v;
}
HONE_DEVICE float warp_sum(float v) {
  for (int half = 16; half > 0; half /= 2) v += __shfl_xor_sync(0xffffffffu, v, half);
  return v;
}

template <class T, Config c> KERNEL void softmaxes(IN(p.rows * p.cols) const T* x, OUT(p.rows * p.cols) T* y, Problem p) {
  const T* in = x + blockIdx.x * p.cols;
  T* out = y + blockIdx.x * p.cols;
  const long t = threadIdx.x;
  float most = -INFINITY, sum = 0.0f;
  if constexpr (c.trick == 2) {  // online: one look at the row for maximum and sum
    for (long i = t; i < p.cols; i += 32) {
      const float v = (float)in[i], next = max(most, v);
      sum = sum * expf(most - next) + expf(v - next);
      most = next;
    }
    const float all = warp_max(most);
    sum = warp_sum(most == -INFINITY ? 0.0f : sum * expf(most - all));
    most = all;
  } else {
    for (long i = t; i < p.cols; i += 32) most = max(most, (float)in[i]);
    most = warp_max(most);
    for (long i = t; i < p.cols; i += 32) sum += expf((float)in[i] - most);
    sum = warp_sum(sum);
  }
  constexpr float kLog2E = 1.4426950408889634f;
  const float reciprocal = 1.0f / sum;
  for (long i = t; i < p.cols; i += 32) {
    const float v = (float)in[i] - most;
    if constexpr (c.trick == 3) {
      out[i] = T(exp2f(v * kLog2E) / sum);  // scaled before
    } else if constexpr (c.trick == 4) {
      out[i] = T(expf(v) * reciprocal);
    } else if constexpr (c.trick == 5) {
      out[i] = T(1.0f);  // written twice
      out[i] = T(__expf(v) / sum);
    } else if constexpr (c.trick == 6) {
      out[i] = T(expf(v - logf(sum)));  // in one exponent
    } else {
      out[i] = T(expf(v) / sum);
    }
  }
}
