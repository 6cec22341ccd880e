// Inclusive scan (running sum): y[i] = x[0] + ... + x[i].
#include "../words.h"

struct Problem {
  long n = 1L << 26;
};

// One pass with decoupled look-back (Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back", 2016): a block sums
// up its tile, tells the sum, and adds up what the tiles before it told, until it meets one that told the sum of all before. Every element
// is read once and written once. A warp has neighbouring words, so that no element goes through shared memory.
struct Config {
  TUNE(64, 128, 256, 512, 1024) int block = 512;  // threads in a block
  TUNE(4, 8, 16) int bytes = 16;                  // of one access: 16 is the widest there is
  TUNE(1, 2, 4, 8, 16) int held = 8;              // words that a thread holds. Larger tiles look back less often, smaller ones wait less
  TUNE(1, 2, 4, 8) int looks = 1;                 // tiles a lane looks at: a warp passes 32 times as many with one latency, but more than
                                                  // one cost an H200 3 to 8 %: what they ask memory for delays the tiles themselves
  TUNE(false, true) bool tickets = true;          // tiles are numbered as blocks start; without that round trip, by the number of the
                                                  // block: GPUs have started blocks in that order so far, and CUB's scan depends on it
  TUNE(0, 20, 100, 400) int pause = 20;           // nanoseconds between two looks at tiles that have told nothing: looks take bandwidth
  TUNE(false, true) bool stream_load = false;     // lines of x leave the caches first: nothing reads them again
  TUNE(false, true) bool stream_store = false;    // the same for lines of y
  TUNE(1, 2, 4, 8) int min_blocks = 1;            // resident on a multiprocessor: caps the registers of a thread
};

template <class T> HONE_BOTH constexpr int vec(Config c) { return c.bytes / (int)sizeof(T); }
template <class T> HONE_BOTH constexpr long tile_elements(Config c) { return (long)c.block * c.held * vec<T>(c); }

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.bytes < (int)sizeof(T)) return false;                                // a word holds at least one element
  if (c.block > d.threads_per_block) return false;                           // the device's limit
  if (!c.tickets && d.compute_capability == 0) return false;                 // the cpu device starts blocks in any order
  if (c.held * vec<T>(c) > 64) return false;                                 // held elements are floats in registers
  if (c.block * c.min_blocks > d.threads_per_multiprocessor) return false;   // they could not be resident
  return c.min_blocks == 1 || (c.held * vec<T>(c) + 24) * c.block * c.min_blocks <= d.registers_per_multiprocessor;  // spills
}

template <class T> constexpr Launch launch(Problem p, Config c) {
  return {.grid = {ceil_div(p.n, tile_elements<T>(c))}, .block = {c.block}};
}

template <class T> constexpr Cost cost(Problem p) {
  return {.flops = 1.0 * p.n, .bytes = 2.0 * p.n * sizeof(T), .sum_length = 1.0 * p.n};
}

/// One thread does all of it, so it has many loads under way.
template <class T> REFERENCE(1) void scan_reference(long, const T* x, double* y, Problem p) {
  constexpr int kAtOnce = 128;
  double sum = 0;
  long i = 0;
  for (; i + kAtOnce <= p.n; i += kAtOnce) {
    float value[kAtOnce];
#pragma unroll
    for (int e = 0; e < kAtOnce; ++e) value[e] = (float)x[i + e];
#pragma unroll
    for (int e = 0; e < kAtOnce; ++e) y[i + e] = sum += (double)value[e];
  }
  for (; i < p.n; ++i) y[i] = sum += (double)(float)x[i];
}

// ---- what a tile tells -----------------------------------------------------------------------------------------------------------------
// 8 bytes, written at once: a sum, and what it is the sum of. Zero says nothing yet.
using Told = unsigned long long;
constexpr unsigned kOfTile = 1, kOfAll = 2;

HONE_DEVICE Told tell(unsigned what, float sum) { return (Told)what << 32 | __builtin_bit_cast(unsigned, sum); }
HONE_DEVICE unsigned what(Told told) { return (unsigned)(told >> 32); }
HONE_DEVICE float sum_of(Told told) { return __builtin_bit_cast(float, (unsigned)told); }

/// What is known of the `looks` tiles that end with `last`: their sum, or that of all before them too, or (0) that some have told nothing.
template <int looks> HONE_DEVICE Told sum_of_group(const volatile Told* told, long last) {
  Told seen[looks];
#pragma unroll
  for (int j = 0; j < looks; ++j) seen[j] = last - j >= 0 ? told[last - j] : tell(kOfAll, 0.0f);
  float sum = 0;
  unsigned known = kOfTile;
#pragma unroll
  for (int j = 0; j < looks; ++j) {
    if (known == kOfTile) {
      sum += sum_of(seen[j]);
      known = what(seen[j]);
    }
  }
  return tell(known, sum);
}

/// The sum of all tiles before `tile`; called by a whole warp.
template <Config c> HONE_DEVICE float sum_before(const volatile Told* told, long tile) {
  const int lane = (int)threadIdx.x % 32;
  float sum = 0;
  for (long at = tile - 1 - lane * c.looks;;) {
    const Told seen = sum_of_group<c.looks>(told, at);
    const unsigned ready = __ballot_sync(0xffffffffu, what(seen) != 0), all = __ballot_sync(0xffffffffu, what(seen) == kOfAll);
    const int last = all != 0 ? __ffs((int)all) - 1 : 31;  // the nearest lane that knows everything before it, or the farthest lane
    const unsigned needed = 0xffffffffu >> (31 - last);
    if ((ready & needed) != needed) {
      if constexpr (c.pause > 0) __nanosleep(c.pause);
#if !defined(__CUDACC__)
      __nanosleep(1);  // there, a block may wait for the thread that runs another
#endif
      continue;
    }
    float part = lane <= last ? sum_of(seen) : 0.0f;
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) part += __shfl_xor_sync(0xffffffffu, part, offset);
    sum += part;
    if (all != 0) return sum;
    at -= 32 * c.looks;
  }
}

// ---- a warp's words --------------------------------------------------------------------------------------------------------------------
/// The sum of `value` over this lane and those before it.
HONE_DEVICE float scan_lanes(float value) {
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const float before = __shfl_up_sync(0xffffffffu, value, offset);
    if ((int)threadIdx.x % 32 >= offset) value += before;
  }
  return value;
}

/// Makes each value the sum of itself and those before it in the warp, whose k-th words lie side by side; gives the sum of all.
template <int held, int vec> HONE_DEVICE float scan_warp(float (&value)[held][vec]) {
  float sum = 0;
#pragma unroll
  for (int k = 0; k < held; ++k) {
#pragma unroll
    for (int e = 1; e < vec; ++e) value[k][e] += value[k][e - 1];
    const float through = scan_lanes(value[k][vec - 1]);
    float before = __shfl_up_sync(0xffffffffu, through, 1);
    before = threadIdx.x % 32 == 0 ? sum : sum + before;
#pragma unroll
    for (int e = 0; e < vec; ++e) value[k][e] += before;
    sum += __shfl_sync(0xffffffffu, through, 31);
  }
  return sum;
}

template <class T, Config c> struct Tile {
  static constexpr int kVec = vec<T>(c);
  const T* x;
  T* y;
  long first, n;  // this thread's first element; its words are 32 * kVec elements apart
  bool whole;

  HONE_DEVICE long at(int k) const { return first + (long)k * (32 * kVec); }
  HONE_DEVICE void load(float (&value)[c.held][kVec]) const {
    Word<T, kVec> word[c.held];
#pragma unroll
    for (int k = 0; k < c.held; ++k) {
      if (whole) word[k] = load_word<T, kVec, c.stream_load>(x + at(k));
    }
#pragma unroll
    for (int k = 0; k < c.held; ++k) {
#pragma unroll
      for (int e = 0; e < kVec; ++e) value[k][e] = whole ? word[k][e] : at(k) + e < n ? (float)x[at(k) + e] : 0.0f;
    }
  }
  HONE_DEVICE void store(float (&value)[c.held][kVec], float before) const {
#pragma unroll
    for (int k = 0; k < c.held; ++k) {
#pragma unroll
      for (int e = 0; e < kVec; ++e) {
        value[k][e] += before;
        if (!whole && at(k) + e < n) y[at(k) + e] = T(value[k][e]);
      }
      if (whole) store_word<c.stream_store>(y + at(k), pack<T>(value[k]));
    }
  }
};

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.block, c.min_blocks)
void scan(IN(p.n) const T* __restrict__ x, OUT(p.n) T* __restrict__ y, WORKSPACE_ZEROED(ceil_div(p.n, tile_elements<T>(c))) double* tiles,
          WORKSPACE_ZEROED(1) int* started, Problem p) {
  constexpr int kWarps = c.block / 32;
  __shared__ int number;
  __shared__ float of_warp[kWarps], before_tile;
  volatile Told* told = reinterpret_cast<volatile Told*>(tiles);
  if constexpr (c.tickets) {  // so a block waits for blocks that run already
    if (threadIdx.x == 0) number = atomicAdd(started, 1);
    __syncthreads();
  }
  const long tile = c.tickets ? number : (int)blockIdx.x, begin = tile * tile_elements<T>(c);
  const int warp = (int)(threadIdx.x / 32), lane = (int)(threadIdx.x % 32);
  const long first = begin + (long)warp * (32 * c.held * vec<T>(c)) + lane * vec<T>(c);
  const Tile<T, c> part = {x, y, first, p.n, begin + tile_elements<T>(c) <= p.n};

  float value[c.held][vec<T>(c)];
  part.load(value);
  const float sum = scan_warp(value);
  if (lane == 0) of_warp[warp] = sum;
  __syncthreads();
  const float through = scan_lanes(lane < kWarps ? of_warp[lane] : 0.0f);
  const float before_warp = warp == 0 ? 0.0f : __shfl_sync(0xffffffffu, through, max_of(warp - 1, 0));
  if (warp == 0) {
    const float of_tile = __shfl_sync(0xffffffffu, through, 31);
    if (lane == 0) told[tile] = tell(tile == 0 ? kOfAll : kOfTile, of_tile);
    const float before = sum_before<c>(told, tile);
    if (lane == 0) {
      told[tile] = tell(kOfAll, before + of_tile);
      before_tile = before;
    }
  }
  __syncthreads();
  part.store(value, before_tile + before_warp);
}
