// Bias and activation in one: y[r, c] = gelu(x[r, c] + bias[c]), with gelu(v) = v * (1 + erf(v / sqrt(2))) / 2.
#include "../approximate.h"
#include "../words.h"

struct Problem {
  long rows = 4096, cols = 4096;
};

// A block has one tile of block * in_flight accesses: every thread has all its loads under way before its first store. The bias comes out
// of L1. On an H200 blocks that stay and loop over tiles were 10 % slower or more, and hints to the caches gained nothing.
struct Config {
  TUNE(64, 128, 256, 512, 1024) int block = 64;     // threads in a block
  TUNE(2, 4, 8, 16) int bytes = 16;                 // of one access: 16 is the widest there is
  TUNE(1, 2, 4, 8) int in_flight = 4;               // accesses a thread issues before it waits, to cover the latency of memory
};

template <class T> HONE_BOTH constexpr long tile_elements(Config c) { return (long)c.block * c.in_flight * c.bytes / (long)sizeof(T); }

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.bytes < (int)sizeof(T)) return false;                                  // an access holds at least one element
  if (c.block > d.threads_per_block) return false;                             // the device's limit
  if (c.bytes < 16 && p.rows * p.cols > (1 << 20)) return false;               // narrow words are for few elements
  return c.in_flight * (c.bytes / (int)sizeof(T)) <= 32;                       // what is in flight becomes floats in registers
}

template <class T> constexpr Launch launch(Problem p, Config c) {
  return {.grid = {ceil_div(p.rows * p.cols, tile_elements<T>(c))}, .block = {c.block}};
}

template <class T> constexpr Cost cost(Problem p) {
  return {.flops = 20.0 * p.rows * p.cols, .bytes = (2.0 * p.rows + 1) * p.cols * sizeof(T)};
}

template <class T> REFERENCE(p.rows * p.cols) void bias_gelu_reference(long i, const T* x, const T* bias, double* y, Problem p) {
  const double v = (double)(float)x[i] + (double)(float)bias[i % p.cols];
  y[i] = 0.5 * v * (1.0 + erf(v * 0.70710678118654752));
}

/// gelu(v), for f32 by erff. A 16-bit result needs fewer digits, and there erff alone would take as long as memory does: the formula 7.1.26
/// of Abramowitz and Stegun ("Handbook of Mathematical Functions") is off by less than 1.5e-7, and through the complement also relatively
/// where the result is small. Its constants are those for v / sqrt(2), and half as large.
template <class T> HONE_DEVICE float gelu(float v) {
  if constexpr (sizeof(T) == 4) return 0.5f * v * (1.0f + erff(v * 0.70710678f));
  const float size = fabsf(v), t = reciprocal(1.0f + 0.23164189f * size);
  const float polynomial = t * (0.127414796f + t * (-0.142248368f + t * (0.7107068705f + t * (-0.7265760135f + t * 0.5307027145f))));
  const float outside = polynomial * power_of_two(v * v * -0.72134752f);  // of the normal distribution, beyond |v|
  return fmaxf(v, 0.0f) - size * outside;
}

/// The words' bias. Where a row ends inside a word (`whole` is false), the next elements belong to the next row.
template <class T, int vec, bool whole> HONE_DEVICE Word<T, vec> bias_at(const T* bias, unsigned column, unsigned cols) {
  if constexpr (whole) {
    return load_word<T, vec>(bias + column);
  } else {
    float word[vec];
#pragma unroll
    for (int e = 0; e < vec; ++e) {
      word[e] = (float)bias[column];
      column = column + 1 == cols ? 0 : column + 1;
    }
    return pack<T>(word);
  }
}

template <class T, Config c, bool whole> HONE_DEVICE void tile(const T* x, const T* bias, T* y, long words, unsigned cols) {
  constexpr int kVec = c.bytes / (int)sizeof(T);
  const long first = blockIdx.x * ((long)c.block * c.in_flight);
  const unsigned column = (unsigned)(first * kVec % cols);  // a division takes as long as the erf of an element
  Word<T, kVec> word[c.in_flight];
#pragma unroll
  for (int j = 0; j < c.in_flight; ++j) {
    const long at = first + j * c.block + threadIdx.x;
    if (at < words) word[j] = load_word<T, kVec>(x + at * kVec);
  }
#pragma unroll
  for (int j = 0; j < c.in_flight; ++j) {
    const unsigned offset = j * c.block + threadIdx.x;
    if (first + offset >= words) continue;
    unsigned at = column + offset * kVec;
    if (at >= cols) at %= cols;  // seldom
    const Word<T, kVec> b = bias_at<T, kVec, whole>(bias, at, cols);
    float result[kVec];
#pragma unroll
    for (int e = 0; e < kVec; ++e) result[e] = gelu<T>(word[j][e] + b[e]);
    store_word<false>(y + (first + offset) * kVec, pack<T>(result));
  }
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.block)
void bias_gelu(IN(p.rows * p.cols) const T* __restrict__ x, IN(p.cols) const T* __restrict__ bias, OUT(p.rows * p.cols) T* __restrict__ y,
               Problem p) {
  constexpr int kVec = c.bytes / (int)sizeof(T);
  const long words = p.rows * p.cols / kVec;
  if (p.cols % kVec == 0) {
    tile<T, c, true>(x, bias, y, words, (unsigned)p.cols);
    return;
  }
  tile<T, c, false>(x, bias, y, words, (unsigned)p.cols);
  const long tail = words * kVec + threadIdx.x;  // fewer elements than a word
  if (blockIdx.x == 0 && tail < p.rows * p.cols) y[tail] = T(gelu<T>((float)x[tail] + (float)bias[tail % p.cols]));
}
