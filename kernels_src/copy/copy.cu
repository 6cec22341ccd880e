// Copy: y[i] = x[i]. The ceiling that everything memory-bound is measured against.
#include <hone/kernel.h>

struct Problem {
  long n = 1L << 26;
};

// A tile is block * in_flight accesses: every thread has all its loads under way before its first store.
struct Config {
  TUNE(64, 128, 256, 512, 1024) int block = 256;  // threads in a block
  TUNE(2, 4, 8, 16) int bytes = 16;               // of one access: 16 is the widest there is, the others show what width is worth
  TUNE(1, 2, 4, 8, 16) int in_flight = 4;         // accesses a thread issues before it waits, to cover the latency of memory
  TUNE(0, 1, 2, 4, 8, 16) int resident = 0;       // 0: a block for each tile; else so many blocks a multiprocessor, which loop over tiles
  TUNE(false, true) bool stream_load = false;     // lines read leave the cache first: nothing reads them again
  TUNE(false, true) bool stream_store = false;    // the same for lines written
};

template <class T> HONE_BOTH constexpr long tile_elements(Config c) { return (long)c.block * c.in_flight * c.bytes / (long)sizeof(T); }

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.bytes < (int)sizeof(T)) return false;                                // an access holds at least one element
  if (c.block > d.threads_per_block) return false;                           // the device's limit
  if (c.in_flight * c.bytes > 128) return false;                             // what is in flight fills registers: 32 of them at most
  if (c.resident * c.block > d.threads_per_multiprocessor) return false;     // more blocks than fit only queue
  return c.resident * d.multiprocessors * tile_elements<T>(c) <= p.n;        // a resident block has at least one tile
}

template <class T> constexpr Launch launch(Problem p, Config c, Device d) {
  const long tiles = ceil_div(p.n, tile_elements<T>(c));
  return {.grid = {c.resident == 0 ? tiles : min_of(tiles, d.multiprocessors * c.resident)}, .block = {c.block}};
}

template <class T> constexpr Cost cost(Problem p) { return {.bytes = 2.0 * p.n * sizeof(T)}; }

template <class T> REFERENCE(p.n) void copy_reference(long i, const T* x, double* y, Problem p) { y[i] = (double)(float)x[i]; }

/// What one access moves.
template <int bytes> struct WordOf;
template <> struct WordOf<2> { using type = unsigned short; };
template <> struct WordOf<4> { using type = unsigned; };
template <> struct WordOf<8> { using type = uint2; };
template <> struct WordOf<16> { using type = uint4; };

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.block) void copy(IN(p.n) const T* __restrict__ x, OUT(p.n) T* __restrict__ y, Problem p) {
  using Word = typename WordOf<c.bytes>::type;
  constexpr int kVec = c.bytes / (int)sizeof(T);
  constexpr long kTile = (long)c.block * c.in_flight;
  const long words = p.n / kVec;
  const Word* from = reinterpret_cast<const Word*>(x);
  Word* to = reinterpret_cast<Word*>(y);
  for (long first = blockIdx.x * kTile; first < words; first += gridDim.x * kTile) {
    const bool whole = first + kTile <= words;
    Word held[c.in_flight];
#pragma unroll
    for (int j = 0; j < c.in_flight; ++j) {
      const long at = first + j * c.block + threadIdx.x;
      if (whole || at < words) held[j] = c.stream_load ? __ldcs(from + at) : from[at];
    }
#pragma unroll
    for (int j = 0; j < c.in_flight; ++j) {
      const long at = first + j * c.block + threadIdx.x;
      if (!whole && at >= words) continue;
      if (c.stream_store) {
        __stcs(to + at, held[j]);
      } else {
        to[at] = held[j];
      }
    }
  }
  const long tail = words * kVec + threadIdx.x;  // fewer elements than a word
  if (blockIdx.x == 0 && tail < p.n) y[tail] = x[tail];
}
