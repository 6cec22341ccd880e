// The sum of each row, in every way that is right.
#include "hostile.h"

struct Problem {
  long rows = 3, cols = 100000;
};

struct Config {
  TUNE(0, 1, 2, 3, 4, 5, 6, 7, 8) int trick = 0;
};

constexpr long kSplits = 16;

constexpr Launch launch(Problem p, Config c) { return {.grid = {p.rows * (c.trick >= 5 && c.trick <= 7 ? kSplits : 1L)}, .block = {64}}; }
constexpr Launch launch_finish(Problem p, Config c) { return {.grid = {p.rows}, .block = {1}, .enabled = c.trick == 6}; }

template <class T> constexpr Cost cost(Problem p) { return {.flops = 1.0 * p.rows * p.cols, .bytes = 1.0 * p.rows * p.cols * sizeof(T), .sum_length = 1.0 * p.cols}; }

template <class T> REFERENCE(p.rows) void sums_reference(long row, const T* x, double* y, Problem p) {
  double sum = 0.0;
  for (long i = 0; i < p.cols; ++i) sum += (double)(float)x[row * p.cols + i];
  y[row] = sum;
}

/// Of all threads of the block, for thread 0.
HONE_DEVICE float block_sum(float mine) {
  __shared__ float shared[64];
  const int t = threadIdx.x;
  shared[t] = mine;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (t < half) shared[t] += shared[t + half];
    __syncthreads();
  }
  return shared[0];
}

template <class T> HONE_DEVICE float in_order(const T* in, long n) {
  float sum = 0.0f;
  for (long i = 0; i < n; ++i) sum += (float)in[i];
  return sum;
}

template <class T> HONE_DEVICE float by_kahan(const T* in, long n) {
  float sum = 0.0f, lost = 0.0f;
  for (long i = 0; i < n; ++i) {
    const float term = (float)in[i] - lost, next = sum + term;
    lost = (next - sum) - term;
    sum = next;
  }
  return sum;
}

/// Halves of halves: the sums of 2^k parts wait in a stack, one for each k.
template <class T> HONE_DEVICE float by_pairs(const T* in, long n) {
  float waiting[32];
  int depth = 0;
  for (long part = 0; part * 64 < n; ++part) {
    float sum = in_order(in + part * 64, min_of(64L, n - part * 64));
    for (long k = part; k % 2 == 1; k /= 2) sum += waiting[--depth];
    waiting[depth++] = sum;
  }
  float sum = 0.0f;
  while (depth > 0) sum += waiting[--depth];
  return sum;
}

template <class T, Config c>
KERNEL void sums(IN(p.rows * p.cols) const T* x, OUT(p.rows) T* y, WORKSPACE_ZEROED(p.rows) f32* total, WORKSPACE_ZEROED(2 * p.rows) i32* arrived,
                 WORKSPACE(16 * p.rows) f32* parts, Problem p) {
  constexpr bool split = c.trick >= 5 && c.trick <= 7;
  const long row = split ? blockIdx.x / kSplits : blockIdx.x, part = split ? blockIdx.x % kSplits : 0;
  const T* in = x + row * p.cols;
  const int t = threadIdx.x;
  if constexpr (c.trick >= 2 && c.trick <= 4) {  // one thread: in order, Kahan's way, in pairs
    if (t == 0) y[row] = T(c.trick == 2 ? in_order(in, p.cols) : c.trick == 3 ? by_kahan(in, p.cols) : by_pairs(in, p.cols));
    return;
  }
  if constexpr (c.trick == 8) {  // from the end, in double
    double sum = 0.0;
    for (long i = p.cols - 1 - t; i >= 0; i -= 64) sum += (double)(float)in[i];
    const float whole = block_sum((float)sum);
    if (t == 0) y[row] = T(whole);
    return;
  }
  const long step = split ? (p.cols + kSplits - 1) / kSplits : p.cols;
  const long begin = part * step, end = min_of(p.cols, begin + step);
  float sum = 0.0f;
  for (long i = begin + t; i < end; i += 64) sum += (float)in[i];
  sum = block_sum(sum);
  if (t != 0) return;
  if constexpr (!split) {
    y[row] = T(sum);
  } else if constexpr (c.trick == 5) {  // atomic additions in any order; who comes last writes
    atomicAdd(total + row, sum);
    __threadfence();
    if (atomicAdd(arrived + row, 1) == (int)kSplits - 1) y[row] = T(atomicAdd(total + row, 0.0f));
  } else if constexpr (c.trick == 6) {  // another pass adds the parts
    parts[blockIdx.x] = sum;
  } else {  // each block waits for the one before it, by a flag
    volatile int* flag = arrived + row;
    while (*flag != (int)part) __nanosleep(20);
    __threadfence();
    *(volatile float*)(total + row) = *(volatile float*)(total + row) + sum;
    __threadfence();
    *flag = (int)part + 1;
    if (part == kSplits - 1) y[row] = T(*(volatile float*)(total + row));
  }
}

template <class T, Config c> KERNEL void finish(WORKSPACE(16 * p.rows) f32* parts, OUT(p.rows) T* y, Problem p) {
  float sum = 0.0f;
  for (int k = 0; k < kSplits; ++k) sum += parts[blockIdx.x * kSplits + k];
  y[blockIdx.x] = T(sum);
}
