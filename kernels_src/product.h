#pragma once
// The operation matmul, which several kernels implement: out = activation(alpha * a b + beta * added + bias). What it is (cost and answer),
// and what they share: the layouts of the operands and the epilogue. Their Problems are the same; `layout`, `terms` and `activation` are
// compiled in.
#include "activations.h"

OPERATION(matmul);

template <class T>
constexpr Cost cost(Problem p) {
  return {.flops = 2.0 * p.m * p.n * p.k,
          .bytes = (1.0 * p.m * p.k + 1.0 * p.k * p.n + (p.terms % 2 == 0 ? 2.0 : 1.0) * p.m * p.n) * sizeof(T),
          .sum_length = 1.0 * p.k};
}

/// K-major: neighbours in memory differ in k.
HONE_BOTH constexpr bool a_is_k_major() { return Problem::layout <= 2; }
HONE_BOTH constexpr bool b_is_k_major() { return Problem::layout % 2 == 0; }

/// Element i of out, in double. Threads that read an element each of as many lines cost 32 accesses for every k: where neighbours in memory
/// differ in k, words are read.
template <class T>
HONE_DEVICE double product_at(long i, const T* a, const T* b, const T* added, const T* bias, float alpha, float beta, Problem p) {
  const long row = i / p.n, column = i % p.n;
  const long a_row = p.layout <= 2 ? p.k : 1, a_k = p.layout <= 2 ? 1 : p.m;
  const long b_column = p.layout % 2 == 0 ? p.k : 1, b_k = p.layout % 2 == 0 ? 1 : p.n;
  double sum = 0;
  long k = 0;
  if constexpr (a_is_k_major() && b_is_k_major()) {
    constexpr int kWord = 16 / sizeof(T);
    for (const bool whole = p.k % kWord == 0; whole && k < p.k; k += kWord) {
      const auto a_word = load<kWord>(a + row * p.k + k), b_word = load<kWord>(b + column * p.k + k);
      for (int e = 0; e < kWord; ++e) sum += (double)(float)a_word[e] * (double)(float)b_word[e];
    }
  }
  for (; k < p.k; ++k) sum += (double)(float)a[row * a_row + k * a_k] * (double)(float)b[column * b_column + k * b_k];
  double x = alpha * sum;
  if (p.terms == 2 || p.terms == 4) x += (double)beta * (double)(float)added[i];
  if (p.terms >= 3) x += (double)(float)bias[column];
  if (p.activation == 2) x = fmax(x, 0.0);
  if (p.activation == 3) x = x * 0.5 * (1.0 + erf(x * 0.70710678118654752));
  if (p.activation == 4) x = x / (1.0 + exp(-x));
  return x;
}

/// activation(alpha * sum + beta * added + bias).
template <class T> struct Finish {
  static constexpr bool kAdded = Problem::terms % 2 == 0, kBiased = Problem::terms >= 3;
  const T *added, *bias;
  float alpha, beta;

  /// Whether the epilogue only rounds.
  HONE_DEVICE bool is_plain() const { return Problem::terms == 1 && Problem::activation == 1 && alpha == 1.0f; }

  HONE_DEVICE float element(float sum, float added_x, float bias_x) const {
    float x = sum * alpha;
    if constexpr (kAdded) x += beta * added_x;
    if constexpr (kBiased) x += bias_x;
    if constexpr (Problem::activation == 2) x = fmaxf(x, 0.0f);
    if constexpr (Problem::activation == 3) x = sizeof(T) == 2 ? gelu<f16>(x) : gelu<f32>(x);  // bf16's error would add to rounding
    if constexpr (Problem::activation == 4) x = silu<T>(x);
    return x;
  }

  /// The epilogue of a packet of a row of n elements.
  template <int width> HONE_DEVICE Vector<float, width> word(const Vector<float, width>& sums, long row, long column, long n) const {
    Vector<T, width> added_word, bias_word;
    if constexpr (kAdded) added_word = load<width>(added + row * n + column);
    if constexpr (kBiased) bias_word = load<width>(bias + column);
    Vector<float, width> x;
#pragma unroll
    for (int e = 0; e < width; ++e) {
      x[e] = element(sums[e], kAdded ? (float)added_word[e] : 0.0f, kBiased ? (float)bias_word[e] : 0.0f);
    }
    return x;
  }
  HONE_DEVICE float at(float sum, long row, long column, long n) const { return word<1>({sum}, row, column, n)[0]; }

  template <int width> HONE_DEVICE void write(T* out, const Vector<float, width>& sums, long row, long column, long n) const {
    const Vector<float, width> x = word(sums, row, column, n);
    Vector<T, width> rounded;
#pragma unroll
    for (int e = 0; e < width; ++e) rounded[e] = T(x[e]);
    store(out + row * n + column, rounded);
  }
};
