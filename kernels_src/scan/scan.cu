// Inclusive scan (running sum): y[i] = x[0] + ... + x[i].
#include "../bulk.h"
#include "../words.h"

struct Problem {
  long n = 1L << 26;
};

// One pass with decoupled look-back (Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back", 2016): a block sums
// up its tile, tells the sum, and adds up what the tiles before it told, until it meets one that told the sum of all before. Every element
// is read once and written once.
// A block that loads for itself (stages = 0) writes nothing before all tiles before its own are read: blocks fall in step, and while they
// look back memory rests: on an H200, 689 us where a copy takes 508. With stages, blocks stay (stay.h).
struct Config {
  TUNE(64, 128, 256, 512, 1024) int block = 512;  // threads in a block
  TUNE(4, 8, 16) int bytes = 16;                  // of one access: 16 is the widest there is
  TUNE(1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 15, 16) int held = 8;  // words that a thread holds. Larger tiles look back less often, smaller ones
                                                  // wait less. With stages a thread's words lie side by side: odd, so that 8 threads that
                                                  // read at once hit different banks
  TUNE(0, 3, 4, 5, 6, 8) int stages = 0;          // tiles in shared memory, on their way in or out (bulk copies); 0: through registers
  TUNE(0, 1, 2) int resident = 0;                 // with stages, blocks on each multiprocessor, which go from tile to tile
  TUNE(1, 2, 4) int looks = 1;                    // tiles a lane looks at: a warp passes 32 times as many with one latency
  TUNE(false, true) bool tickets = true;          // tiles are numbered as blocks start; without that round trip, by the number of the
                                                  // block: GPUs have started blocks in that order so far, and CUB's scan depends on it
  TUNE(20, 400) int pause = 20;                        // nanoseconds between two looks at tiles that told nothing: looks take bandwidth
  TUNE(false, true) bool stream_load = false;     // lines of x leave the caches first: nothing reads them again
  TUNE(false, true) bool stream_store = false;    // the same for lines of y
  TUNE(1, 2, 4, 8) int min_blocks = 1;            // resident on a multiprocessor: caps the registers of a thread
};

template <class T> HONE_BOTH constexpr int vec(Config c) { return c.bytes / (int)sizeof(T); }
template <class T> HONE_BOTH constexpr long tile_elements(Config c) { return (long)c.block * c.held * vec<T>(c); }
HONE_BOTH constexpr long shared_bytes(Config c) { return (long)c.stages * c.block * c.held * c.bytes; }
/// With stages, three warps more look, move tiles, and (in one block) add up what tiles told.
HONE_BOTH constexpr int threads_of(Config c) { return c.stages == 0 ? c.block : c.block + 96; }

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.bytes < (int)sizeof(T)) return false;                                // a word holds at least one element
  if (threads_of(c) > d.threads_per_block) return false;                     // the device's limit
  if (!c.tickets && d.compute_capability == 0) return false;                 // the cpu device starts blocks in any order
  if (c.stages == 0 && c.resident > 0) return false;                         // nothing ahead: blocks that stay gain nothing
  if (c.stages > 0 && c.resident == 0) return false;                         // and what is ahead is for a block that stays
  if (c.stages > 0 && d.compute_capability > 0 && d.compute_capability < 90) return false;  // bulk copies came with Hopper
  if (c.stages > 0 && (c.bytes < 16 || !c.tickets)) return false;            // move words of 16 bytes; the next ticket comes meanwhile
  if (c.stages > 0 && c.held % 2 == 0) return false;                         // bank conflicts
  if (c.stages > 0 && c.min_blocks != max_of(c.resident, 1)) return false;   // says the same
  if (c.stages == 0 && c.held > 1 && c.held % 2 == 1) return false;          // powers of two are enough
  if (c.held * vec<T>(c) > 64) return false;                                 // held elements are floats in registers
  if (c.stages > 0 && c.block * c.held * c.bytes < 24576) return false;      // a tile is worth the ways of its sums
  if (c.stages == 0 && c.block * c.held * c.bytes < 8192 && p.n > (1 << 24)) return false;  // and the looks back
  if (c.bytes < 16 && p.n > (1 << 16)) return false;                         // narrow words are for short arrays
  if (c.stages > 0 && c.pause > 20) return false;                            // few look
  if (c.stages == 0 && c.looks > 1) return false;                            // looks get in each other's way
  if (shared_bytes(c) + 2048 > d.shared_memory_per_block) return false;      // the device's limit, beside the partial sums
  if ((shared_bytes(c) + 3072) * max_of(c.resident, 1) > d.shared_memory_per_multiprocessor) return false;  // more blocks only queue
  if (c.resident * d.multiprocessors * tile_elements<T>(c) > p.n) return false;  // a block that stays has a tile
  if (threads_of(c) * c.min_blocks > d.threads_per_multiprocessor) return false;  // they could not be resident
  return c.min_blocks == 1 || (c.held * vec<T>(c) + 24) * c.block * c.min_blocks <= d.registers_per_multiprocessor;  // spills
}

template <class T> constexpr Launch launch(Problem p, Config c, Device d) {
  const long tiles = ceil_div(p.n, tile_elements<T>(c));
  return {.grid = {c.stages == 0 ? tiles : min_of(tiles, d.multiprocessors * c.resident)},
          .block = {threads_of(c)},
          .shared = shared_bytes(c)};
}

template <class T> constexpr Cost cost(Problem p) {
  return {.flops = 1.0 * p.n, .bytes = 2.0 * p.n * sizeof(T), .sum_length = 1.0 * p.n};
}

constexpr long kReferenceChunk = 16384;  // about the root of a large n: as many chunks as each has elements

/// Each chunk is summed up for itself, the sums of the chunks one after the other, and then each chunk from the sum before it. Between the
/// passes a sum lies in the last element of its chunk. The order of additions changes the last bits of a double, far below every tolerance.
template <class T> REFERENCE(ceil_div(p.n, kReferenceChunk)) void scan_reference_sums(long i, const T* x, double* y, Problem p) {
  const long begin = i * kReferenceChunk, end = min_of(begin + kReferenceChunk, p.n);
  double sum = 0;
  for (long at = begin; at < end; ++at) sum += (double)(float)x[at];
  y[end - 1] = sum;
}

template <class T> REFERENCE(1) void scan_reference_offsets(long, double* y, Problem p) {
  double sum = 0;
  for (long begin = 0; begin < p.n; begin += kReferenceChunk) {
    const long last = min_of(begin + kReferenceChunk, p.n) - 1;
    sum += y[last];
    y[last] = sum;
  }
}

/// Leaves the last element alone: it is right already, and the next chunk reads it meanwhile.
template <class T> REFERENCE(ceil_div(p.n, kReferenceChunk)) void scan_reference(long i, const T* x, double* y, Problem p) {
  const long begin = i * kReferenceChunk, end = min_of(begin + kReferenceChunk, p.n);
  double sum = i == 0 ? 0.0 : y[begin - 1];
  for (long at = begin; at < end - 1; ++at) y[at] = sum += (double)(float)x[at];
}

// ---- what a tile tells -----------------------------------------------------------------------------------------------------------------
// 8 bytes, written at once: a sum, and what it is the sum of. Zero says nothing yet.
using Told = unsigned long long;
constexpr unsigned kOfTile = 1, kOfAll = 2, kBefore = 3;  // of the tile, of all up to it, of all before it

HONE_DEVICE Told tell(unsigned what, float sum) { return (Told)what << 32 | __builtin_bit_cast(unsigned, sum); }
HONE_DEVICE unsigned what(Told told) { return (unsigned)(told >> 32); }
HONE_DEVICE float sum_of(Told told) { return __builtin_bit_cast(float, (unsigned)told); }

HONE_DEVICE void wait_a_little(int pause) {
  if (pause > 0) __nanosleep(pause);
#if !defined(__CUDACC__)
  __nanosleep(1);  // there, a block may wait for the thread that runs another
#endif
}

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
      wait_a_little(c.pause);
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

// ---- a block's tile --------------------------------------------------------------------------------------------------------------------
/// Tells the sum of a tile and gives that of all before it; called by a whole warp.
template <Config c> HONE_DEVICE float look_back(float of_tile, long tile, volatile Told* told) {
  const bool first = threadIdx.x % 32 == 0;
  if (first) told[tile] = tell(tile == 0 ? kOfAll : kOfTile, of_tile);
  const float before_tile = sum_before<c>(told, tile);
  if (first) told[tile] = tell(kOfAll, before_tile + of_tile);
  return before_tile;
}

/// What the threads of a block with one tile share.
struct Shared {
  float of_warp[32], before_tile;
  int tile;
};

/// The sum of all elements before this warp's, of which the tile has `sum`.
template <Config c> HONE_DEVICE float before_warp(float sum, long tile, volatile Told* told, Shared& shared) {
  constexpr int kWarps = c.block / 32;
  const int warp = (int)(threadIdx.x / 32), lane = (int)(threadIdx.x % 32);
  if (lane == 0) shared.of_warp[warp] = sum;
  __syncthreads();
  const float through = scan_lanes(lane < kWarps ? shared.of_warp[lane] : 0.0f);
  const float before = warp == 0 ? 0.0f : __shfl_sync(0xffffffffu, through, max_of(warp - 1, 0));
  if (warp == 0) {
    const float before_tile = look_back<c>(__shfl_sync(0xffffffffu, through, 31), tile, told);
    if (lane == 0) shared.before_tile = before_tile;
  }
  __syncthreads();
  return shared.before_tile + before;
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

/// A block with one tile: a warp has neighbouring words, so that no element goes through shared memory.
template <class T, Config c> HONE_DEVICE void scan_tile(const T* x, T* y, volatile Told* told, int* started, Shared& shared, long n) {
  if constexpr (c.tickets) {  // so a block waits for blocks that run already
    if (threadIdx.x == 0) shared.tile = atomicAdd(started, 1);
    __syncthreads();
  }
  const long tile = c.tickets ? shared.tile : (int)blockIdx.x, begin = tile * tile_elements<T>(c);
  const int warp = (int)(threadIdx.x / 32), lane = (int)(threadIdx.x % 32);
  const Tile<T, c> part = {x, y, begin + ((long)warp * (32 * c.held) + lane) * vec<T>(c), n, begin + tile_elements<T>(c) <= n};
  float value[c.held][vec<T>(c)];
  part.load(value);
  const float before = before_warp<c>(scan_warp(value), tile, told, shared);
  part.store(value, before);
}

#include "stay.h"

// The first 8 bytes count the blocks that have started, the others are what tiles tell: one workspace is one memory set.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(threads_of(c), c.min_blocks)
void scan(IN(p.n) const T* __restrict__ x, OUT(p.n) T* __restrict__ y,
          WORKSPACE_ZEROED(1 + ceil_div(p.n, tile_elements<T>(c))) double* tiles, Problem p) {
  int* started = reinterpret_cast<int*>(tiles);
  volatile Told* told = reinterpret_cast<volatile Told*>(tiles + 1);
  if constexpr (c.stages == 0) {
    __shared__ Shared shared;
    scan_tile<T, c>(x, y, told, started, shared, p.n);
  } else {
    __shared__ Stage stages[c.stages];
    SHARED_DYNAMIC(T, elements);
    Tiles<T, c>{x, y, p.n, told, started, elements, stages}.run();
  }
}
