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
// look back memory rests: on an H200, 689 us where a copy takes 508. With stages, blocks stay: one thread moves tiles into and out of shared
// memory, one warp of all blocks adds up what tiles told, and a block sums up a tile while it waits for what is before the last one. (Where
// every block looked back for itself, their looks got in each other's way: 50 ns a tile, whatever its size.)
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
  TUNE(0, 20, 100, 400) int pause = 20;                // nanoseconds between two looks at tiles that have told nothing: looks take bandwidth
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
  if (c.stages > 0 && c.block * c.held * c.bytes < 16384) return false;      // a tile is worth the ways of its sums
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

// ---- a block that stays ----------------------------------------------------------------------------------------------------------------
/// A place for a tile in shared memory. Each use of it is a phase of its arrivals.
struct Stage {
  Arrival loaded, summed, known, written;  // the tile; the sums of its warps; those before them; the results
  long tile;                               // behind the last, none
  float of_warp[32];                       // sum of each warp's elements, then of all elements before them
};

/// The stages in turn.
template <int stages> struct Turn {
  int stage = 0;
  unsigned phase = 0;

  HONE_DEVICE void next() {
    stage = stage + 1 == stages ? 0 : stage + 1;
    phase ^= stage == 0;
  }
};

template <class T, Config c> struct Tiles {
  static constexpr int kVec = vec<T>(c), kWarps = c.block / 32;
  static constexpr long kTile = tile_elements<T>(c);
  using TileWord = Word<T, kVec>;
  using StageTurn = Turn<c.stages>;
  const T* x;
  T* y;
  long n;
  volatile Told* told;
  int* started;
  T* elements;  // of all stages
  Stage* stages;

  /// Of a tile, what bulk copies move: whole words. The few elements behind the last word of x are the threads' own.
  HONE_DEVICE unsigned bytes(long tile) const { return (unsigned)(min_of(kTile, n - tile * kTile) / kVec * 16); }
  HONE_DEVICE bool over(long tile) const { return tile * kTile >= n; }

  HONE_DEVICE void fetch(int stage, long tile) const {
    stages[stage].tile = tile;
    const unsigned wanted = over(tile) ? 0 : bytes(tile);
    expect_bytes(&stages[stage].loaded, wanted);
    if (wanted > 0) bulk_load<c.stream_load>(elements + stage * kTile, x + tile * kTile, wanted, &stages[stage].loaded);
  }

  /// One thread has tiles copied into the stages, and out of them. Their numbers are taken in the order in which the block works, so the
  /// earliest unfinished tile never waits; each is taken early, for it is a round trip to memory.
  HONE_DEVICE void move() const {
    long next = stages[0].tile;
    for (int s = 0; s < c.stages; ++s) {
      fetch(s, next);
      next = atomicAdd(started, 1);
    }
    for (StageTurn at; !over(stages[at.stage].tile); at.next()) {
      const long tile = stages[at.stage].tile;
      await_arrival(&stages[at.stage].written, at.phase);
      if (bytes(tile) > 0) bulk_store<c.stream_store>(y + tile * kTile, elements + at.stage * kTile, bytes(tile));
      bulk_stores_left<0>();
      fetch(at.stage, next);
      next = atomicAdd(started, 1);
    }
  }

  /// One warp of all blocks finds out what is before each tile, in order, and tells it: a block looks at its own tile alone.
  HONE_DEVICE void add_tiles(long tiles) const {
    const int lane = (int)(threadIdx.x % 32);
    double before = 0;  // the tile `first`, the first that does not know
    for (long first = 0; first < tiles;) {
      const long mine = first + lane * c.looks;
      Told seen[c.looks];
#pragma unroll
      for (int j = 0; j < c.looks; ++j) seen[j] = mine + j < tiles ? told[mine + j] : 0;
      int ready = 0;  // of this lane's tiles, in order
      float sum = 0;
#pragma unroll
      for (int j = 0; j < c.looks; ++j) {
        if (ready < j || what(seen[j]) != kOfTile) continue;
        ++ready;
        sum += sum_of(seen[j]);
      }
      const unsigned some_left = __ballot_sync(0xffffffffu, ready < c.looks);
      const int last = some_left == 0 ? 31 : __ffs((int)some_left) - 1;  // the lane behind whose tiles nothing is to be told yet
      const float through = scan_lanes(lane <= last ? sum : 0.0f), lanes_before = __shfl_up_sync(0xffffffffu, through, 1);
      double here = lane == 0 ? before : before + lanes_before;
#pragma unroll
      for (int j = 0; j < c.looks; ++j) {
        if (lane > last || j >= ready) continue;
        told[mine + j] = tell(kBefore, (float)here);
        here += sum_of(seen[j]);
      }
      const int known = last * c.looks + __shfl_sync(0xffffffffu, ready, last);
      before += __shfl_sync(0xffffffffu, through, 31);
      first += known;
      if (known == 0) wait_a_little(c.pause);
    }
  }

  /// One warp tells each tile's sum, and learns what is before it and before each warp's elements of it.
  HONE_DEVICE void look() const {
    const int lane = (int)(threadIdx.x % 32);
    for (StageTurn at;; at.next()) {
      Stage& stage = stages[at.stage];
      await_arrival(&stage.loaded, at.phase);
      if (over(stage.tile)) return;
      await_arrival(&stage.summed, at.phase);
      const float through = scan_lanes(lane < kWarps ? stage.of_warp[lane] : 0.0f), before = __shfl_up_sync(0xffffffffu, through, 1);
      float before_tile = 0;
      if (lane == 31) {
        told[stage.tile] = tell(kOfTile, through);
        Told seen = told[stage.tile];
        for (; what(seen) != kBefore; seen = told[stage.tile]) wait_a_little(c.pause);
        before_tile = sum_of(seen);
      }
      before_tile = __shfl_sync(0xffffffffu, before_tile, 31);
      stage.of_warp[lane] = lane == 0 ? before_tile : before_tile + before;
      __syncwarp();
      if (lane == 0) arrive(&stage.known);
    }
  }

  /// Sums up what this thread has of a tile: value[k][e] becomes the sum up to it.
  HONE_DEVICE float sum_up(int stage, float (&value)[c.held][kVec]) const {
    const T* const here = elements + stage * kTile;
    const long left = n - stages[stage].tile * kTile;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < c.held; ++k) {
      const long at = ((long)threadIdx.x * c.held + k) * kVec;
      const TileWord word = at + kVec <= left ? load_word<T, kVec>(here + at) : TileWord{};
#pragma unroll
      for (int e = 0; e < kVec; ++e) value[k][e] = word[e];
      if (at < left && at + kVec > left) {
        for (int e = 0; e < kVec; ++e) value[k][e] = at + e < left ? (float)x[n - left + at + e] : 0.0f;
      }
#pragma unroll
      for (int e = 1; e < kVec; ++e) value[k][e] += value[k][e - 1];
#pragma unroll
      for (int e = 0; e < kVec; ++e) value[k][e] += sum;
      sum = value[k][kVec - 1];
    }
    return sum;
  }

  HONE_DEVICE void put(int stage, float (&value)[c.held][kVec], float before) const {
    T* const here = elements + stage * kTile;
    const long left = n - stages[stage].tile * kTile;
#pragma unroll
    for (int k = 0; k < c.held; ++k) {
      const long at = ((long)threadIdx.x * c.held + k) * kVec;
#pragma unroll
      for (int e = 0; e < kVec; ++e) value[k][e] += before;
      store(here + at, __builtin_bit_cast(Vector<T, kVec>, pack<T>(value[k])));
      if (at < left && at + kVec > left) {
        for (int e = 0; e < kVec && at + e < left; ++e) y[n - left + at + e] = T(value[k][e]);
      }
    }
  }

  /// The other threads: the sums of a tile are told before the results of the one before it are written, so that nobody waits for a look
  /// back that is under way. A tile is read twice from shared memory, which has the time.
  HONE_DEVICE void add_up() const {
    const int warp = (int)(threadIdx.x / 32), lane = (int)(threadIdx.x % 32);
    StageTurn last;
    float lanes_before = 0;
    for (StageTurn at;; at.next()) {
      Stage& stage = stages[at.stage];
      await_arrival(&stage.loaded, at.phase);
      const bool done = over(stage.tile), first = at.stage == last.stage && at.phase == last.phase;
      float value[c.held][kVec], through = 0;
      if (!done) {
        through = scan_lanes(sum_up(at.stage, value));
        if (lane == 31) {
          stage.of_warp[warp] = through;
          arrive(&stage.summed);
        }
      }
      if (!first) {
        sum_up(last.stage, value);
        await_arrival(&stages[last.stage].known, last.phase);
        put(last.stage, value, stages[last.stage].of_warp[warp] + lanes_before);
        fence_for_bulk();
        __syncwarp();
        if (lane == 0) arrive(&stages[last.stage].written);
      }
      if (done) return;
      const float before = __shfl_up_sync(0xffffffffu, through, 1);
      lanes_before = lane == 0 ? 0.0f : before;
      last = at;
    }
  }

  HONE_DEVICE void run() const {
    if (threadIdx.x == 0) {
      for (int s = 0; s < c.stages; ++s) {
        prepare_arrival(&stages[s].loaded);
        prepare_arrival(&stages[s].summed, kWarps);
        prepare_arrival(&stages[s].known);
        prepare_arrival(&stages[s].written, kWarps);
      }
      stages[0].tile = atomicAdd(started, 1);
    }
    __syncthreads();
    if (threadIdx.x < c.block) {
      add_up();
    } else if (threadIdx.x < c.block + 32) {
      look();
    } else if (threadIdx.x == c.block + 32) {
      move();
    } else if (threadIdx.x >= c.block + 64 && stages[0].tile == 0) {  // it stays so until this warp has worked
      add_tiles(ceil_div(n, kTile));
    }
  }
};

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
