// Bias and activation in one: y[r, c] = gelu(x[r, c] + bias[c]), with gelu(v) = v * (1 + erf(v / sqrt(2))) / 2.
#include "../words.h"

struct Problem {
  long rows = 4096, cols = 4096;
};

// A tile is block * in_flight accesses: every thread has all its loads under way before its first store. The bias comes out of L1.
struct Config {
  TUNE(64, 128, 256, 512, 1024) int block = 256;    // threads in a block
  TUNE(2, 4, 8, 16) int bytes = 16;                 // of one access: 16 is the widest there is
  TUNE(1, 2, 4, 8) int in_flight = 2;               // accesses a thread issues before it waits, to cover the latency of memory
  TUNE(0, 1, 2, 4, 8, 16) int resident = 0;         // 0: a block for each tile; else so many blocks a multiprocessor, which loop over tiles
  TUNE(false, true) bool stream_load = true;        // lines of x leave the caches first: the bias stays in L1
  TUNE(false, true) bool stream_store = false;      // lines of y leave the cache first
};

template <class T> HONE_BOTH constexpr long tile_elements(Config c) { return (long)c.block * c.in_flight * c.bytes / (long)sizeof(T); }

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.bytes < (int)sizeof(T)) return false;                                  // an access holds at least one element
  if (c.block > d.threads_per_block) return false;                             // the device's limit
  if (c.in_flight * (c.bytes / (int)sizeof(T)) > 32) return false;             // what is in flight becomes floats in registers
  if (c.resident * c.block > d.threads_per_multiprocessor) return false;       // more blocks than fit only queue
  return c.resident * d.multiprocessors * tile_elements<T>(c) <= p.rows * p.cols;  // a resident block has at least one tile
}

template <class T> constexpr Launch launch(Problem p, Config c, Device d) {
  const long tiles = ceil_div(p.rows * p.cols, tile_elements<T>(c));
  return {.grid = {c.resident == 0 ? tiles : min_of(tiles, d.multiprocessors * c.resident)}, .block = {c.block}};
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
/// where the result is small.
template <class T> HONE_DEVICE float gelu(float v) {
  if constexpr (sizeof(T) == 4) return 0.5f * v * (1.0f + erff(v * 0.70710678f));
  const float size = fabsf(v) * 0.70710678f, t = __fdividef(1.0f, 1.0f + 0.3275911f * size);
  const float polynomial = t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
  const float outside = 0.5f * polynomial * __expf(-size * size);  // of the normal distribution, beyond |v|
  return v > 0.0f ? v - v * outside : v * outside;
}

/// The words' bias. Where a row ends inside a word, the next elements belong to the next row.
template <class T, int vec> HONE_DEVICE Word<T, vec> bias_at(const T* bias, unsigned column, unsigned cols) {
  if (cols % vec == 0) return load_word<T, vec>(bias + column);
  float word[vec];
#pragma unroll
  for (int e = 0; e < vec; ++e) {
    word[e] = (float)bias[column];
    column = column + 1 == cols ? 0 : column + 1;
  }
  return pack<T>(word);
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.block)
void bias_gelu(IN(p.rows * p.cols) const T* __restrict__ x, IN(p.cols) const T* __restrict__ bias, OUT(p.rows * p.cols) T* __restrict__ y,
               Problem p) {
  constexpr int kVec = c.bytes / (int)sizeof(T);
  constexpr long kTile = (long)c.block * c.in_flight;
  const long words = p.rows * p.cols / kVec;
  const unsigned cols = (unsigned)p.cols;
  for (long first = blockIdx.x * kTile; first < words; first += gridDim.x * kTile) {
    const unsigned column = (unsigned)(first * kVec % p.cols);  // one long division for a tile; its words have short ones
    Word<T, kVec> word[c.in_flight];
#pragma unroll
    for (int j = 0; j < c.in_flight; ++j) {
      const long at = first + j * c.block + threadIdx.x;
      if (at < words) word[j] = load_word<T, kVec, c.stream_load>(x + at * kVec);
    }
#pragma unroll
    for (int j = 0; j < c.in_flight; ++j) {
      const unsigned offset = j * c.block + threadIdx.x;
      if (first + offset >= words) continue;
      const Word<T, kVec> b = bias_at<T, kVec>(bias, (column + offset * kVec) % cols, cols);
      float result[kVec];
#pragma unroll
      for (int e = 0; e < kVec; ++e) result[e] = gelu<T>(word[j][e] + b[e]);
      store_word<c.stream_store>(y + (first + offset) * kVec, pack<T>(result));
    }
  }
  const long tail = words * kVec + threadIdx.x;  // fewer elements than a word
  if (blockIdx.x == 0 && tail < p.rows * p.cols) y[tail] = T(gelu<T>((float)x[tail] + (float)bias[tail % p.cols]));
}
