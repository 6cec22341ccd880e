// Inclusive scan (running sum): y[i] = x[0] + ... + x[i].
#include "../bulk.h"
#include "../words.h"

struct Problem {
  long n = 1L << 26;
};

// One pass: every element is read once and written once. A warp has a tile at a time: it brings it into its part of shared memory, tells
// its sum, is told the sum of all before it, and writes its results from there. Warps do not wait for each other, and while some wait for
// memory or an answer others work. Answers come from one warp of each block that adds up what all tiles of the array tell: all such warps
// do the same, so there is no chain from tile to tile. (Where tiles looked back for themselves, as in Merrill and Garland, "Single-pass
// parallel prefix scan with decoupled look-back", 2016, 1 GiB took 686 us on an H200, with one adding warp for all blocks 640, so 530.)
// Tiles are numbered as warps take them, so all that one waits for is under way, whatever runs at once. Additions have one order: results
// are the same every time.
struct Config {
  TUNE(4, 8, 12, 16, 20, 24) int warps = 20;      // with a tile each, in a block; 20: or as many as there is room for
  TUNE(1, 3, 5, 7) int held = 7;                  // words of 16 bytes that a lane holds, side by side: odd, so that 8 lanes that read at
                                                  // once hit different banks
  TUNE(1, 2, 3, 4, 5, 6, 8) int steps = 3;        // in which a warp goes through its tile
  TUNE(4, 8) int looks = 8;                       // tiles that a lane of the adding warp looks at: many are under way with one latency
};

template <class T> HONE_BOTH constexpr int vec() { return 16 / (int)sizeof(T); }
HONE_BOTH constexpr long tile_words(Config c) { return 32L * c.held * c.steps; }
template <class T> HONE_BOTH constexpr long tile_elements(Config c) { return tile_words(c) * vec<T>(); }

constexpr long kOwnBytes = 4096;  // of shared memory, beside tiles
HONE_BOTH constexpr long warps_of(Config c, Device d) {
  return min_of((long)c.warps, (d.shared_memory_per_block - kOwnBytes) / (tile_words(c) * 16));
}
HONE_BOTH constexpr long shared_bytes(Config c, Device d) { return warps_of(c, d) * tile_words(c) * 16; }

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.warps * 32 + 32 > d.threads_per_block) return false;                    // the device's limit
  return warps_of(c, d) >= 1;                                                   // a tile fits in shared memory
}

// Learned on an H200 in November 2026, at 2^28 elements in f32 and bf16. Short arrays take no time worth saving.
template <class T> constexpr bool likely(Problem p, Config c, Device d) {
  if (c.warps != 20 && warps_of(c, d) < c.warps) return false;                  // 20 comes to the same
  if ((c.held * vec<T>() + 40) * (c.warps + 1) * 32 > d.registers_per_multiprocessor) return false;  // held elements are floats: spills
  if (p.n > (1 << 24) && tile_words(c) < 384) return false;                     // each block adds up what all tiles tell
  return p.n <= (1 << 24) || 2 * shared_bytes(c, d) >= d.shared_memory_per_block;  // tiles under way keep memory busy
}

template <class T> constexpr Launch launch(Problem p, Config c, Device d) {
  return {.grid = {min_of(ceil_div(p.n, tile_elements<T>(c)), d.multiprocessors)},
          .block = {warps_of(c, d) * 32 + 32},
          .shared = shared_bytes(c, d)};
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

// ---- what a tile tells, and is told -----------------------------------------------------------------------------------------------------
// 8 bytes, written at once, so that no fence is between them: a sum, and what it belongs to. Zero says nothing yet.
using Told = unsigned long long;

HONE_DEVICE Told tell(unsigned mark, float sum) { return (Told)mark << 32 | __builtin_bit_cast(unsigned, sum); }
HONE_DEVICE unsigned mark(Told told) { return (unsigned)(told >> 32); }
HONE_DEVICE float sum_of(Told told) { return __builtin_bit_cast(float, (unsigned)told); }

/// Where a warp asks for the sum of all before its tile. The answer is marked with the tile's number plus 1.
struct Question {
  int tile;
  Told answer;
};

HONE_DEVICE void let_others_work() {
#if !defined(__CUDACC__)
  __nanosleep(1);  // there, a block may wait for the thread that runs another
#endif
}

// ---- in a warp --------------------------------------------------------------------------------------------------------------------------
HONE_DEVICE int lane() { return (int)(threadIdx.x % 32); }

/// A number that no other warp gets.
HONE_DEVICE int take_number(int* from) {
  int number = 0;
  if (lane() == 0) number = atomicAdd(from, 1);
  return __shfl_sync(0xffffffffu, number, 0);
}

HONE_DEVICE float sum_lanes(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

/// Makes each value the sum of itself and those of the lanes before. All at once: each step costs the latency of one shuffle.
template <int count> HONE_DEVICE void scan_lanes(float (&value)[count]) {
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
#pragma unroll
    for (int j = 0; j < count; ++j) {
      const float before = __shfl_up_sync(0xffffffffu, value[j], offset);
      if (lane() >= offset) value[j] += before;
    }
  }
}

/// What the lane before has; nothing before the first.
HONE_DEVICE float from_lane_before(float value) {
  const float before = __shfl_up_sync(0xffffffffu, value, 1);
  return lane() == 0 ? 0.0f : before;
}

// ---- the warp that adds up --------------------------------------------------------------------------------------------------------------
/// Goes through all tiles in windows, of which a lane has every 32nd tile. It answers as soon as all before a tile is known; a window is
/// left when all of it is known, so that additions always have the same order.
template <Config c> struct Adder {
  static constexpr int kWindow = 32 * c.looks;
  const volatile Told* told;
  int tiles;
  volatile Question* questions;
  int warps;
  volatile float* answers;  // of a window
  double before_window = 0;

  HONE_DEVICE void run() {
    for (int first = 0; first < tiles; first += kWindow) add_window(first);
  }

  HONE_DEVICE void add_window(int first) {
    const int mine = first + lane();
    Told seen[c.looks];
#pragma unroll
    for (int j = 0; j < c.looks; ++j) seen[j] = mine + j * 32 < tiles ? 0 : tell(1, 0.0f);
    for (int known = 0; known < kWindow;) {
#pragma unroll
      for (int j = 0; j < c.looks; ++j) {
        if (mark(seen[j]) == 0) seen[j] = told[mine + j * 32];
      }
      float through[c.looks], before_group = 0;
#pragma unroll
      for (int j = 0; j < c.looks; ++j) through[j] = sum_of(seen[j]);
      scan_lanes(through);
      known = 0;
#pragma unroll
      for (int j = 0; j < c.looks; ++j) {
        answers[j * 32 + lane()] = (float)before_window + (before_group + from_lane_before(through[j]));
        before_group += __shfl_sync(0xffffffffu, through[j], 31);
        const unsigned missing = __ballot_sync(0xffffffffu, mark(seen[j]) == 0);
        if (known == j * 32) known += missing == 0 ? 32 : __ffs((int)missing) - 1;
      }
      answer(first, known);
      if (known == kWindow) before_window += before_group;
      let_others_work();
    }
  }

  /// Of the window's tiles `known` have told their sums, in order. A tile is asked for before it tells: so no question comes too late.
  HONE_DEVICE void answer(int first, int known) const {
    __threadfence_block();
    __syncwarp();
    if (lane() < warps) {
      const int tile = questions[lane()].tile, at = tile - first;
      if (at >= 0 && at <= known && at < kWindow) questions[lane()].answer = tell((unsigned)tile + 1, answers[at]);
    }
    __syncwarp();
  }
};

// ---- a warp with tiles ------------------------------------------------------------------------------------------------------------------
template <class T, Config c> struct Worker {
  static constexpr int kVec = vec<T>();
  static constexpr long kTile = tile_elements<T>(c);
  using TileWord = Word<T, kVec>;
  const T* x;
  T* y;
  long n;
  volatile Told* told;
  int* started;
  T* here;  // the tile in shared memory
  Arrival* loaded;
  volatile Question* question;
  int tile;
  int words, whole_words;  // of the tile; the array's last word may be a part of one, whose elements go one by one

  HONE_DEVICE long begin() const { return tile * kTile; }
  HONE_DEVICE bool has_rest() const { return words > whole_words && lane() < kVec; }
  HONE_DEVICE long rest() const { return (long)whole_words * kVec + lane(); }

  HONE_DEVICE void ask() {
    if (lane() == 0) question->tile = tile;
    __threadfence_block();
  }

  HONE_DEVICE void bring(unsigned phase) {
    const long left = min_of(kTile, n - begin());
    const T* const from = x + begin();
    words = (int)ceil_div(left, (long)kVec);
    whole_words = (int)(left / kVec);
    if constexpr (!kBulkCopies) {
#pragma unroll 8
      for (int i = lane(); i < whole_words; i += 32) store(here + i * kVec, load<kVec>(from + i * kVec));
    } else if (lane() == 0) {
      expect_bytes(loaded, whole_words * 16);
      if (whole_words > 0) bulk_load<false>(here, from, whole_words * 16, loaded);
    }
    if (has_rest()) here[rest()] = rest() < left ? from[rest()] : T(0.0f);
    __syncwarp();
    if constexpr (kBulkCopies) await_arrival(loaded, phase);
  }

  HONE_DEVICE TileWord word(int i) const { return i < words ? load_word<T, kVec>(here + i * kVec) : TileWord{}; }

  HONE_DEVICE float sum() const {
    float sums[kVec] = {};
#pragma unroll
    for (int i = 0; i < c.held * c.steps; ++i) {
      const TileWord one = word(i * 32 + lane());
#pragma unroll
      for (int e = 0; e < kVec; ++e) sums[e] += one[e];
    }
#pragma unroll
    for (int apart = kVec / 2; apart > 0; apart /= 2) {
#pragma unroll
      for (int e = 0; e < apart; ++e) sums[e] += sums[e + apart];
    }
    return sum_lanes(sums[0]);
  }

  HONE_DEVICE float sum_before(float sum) const {
    Told answer = 0;
    if (lane() == 0) {
      told[tile] = tell(1, sum);
      while (mark(answer = question->answer) != (unsigned)tile + 1) let_others_work();
    }
    return __shfl_sync(0xffffffffu, sum_of(answer), 0);
  }

  /// Sums up in place. `before_step` is of the tile alone, so that its small sums keep their digits.
  HONE_DEVICE void add_up(float before_tile) const {
    float before_step = 0;
#pragma unroll 1
    for (int step = 0; step < c.steps; ++step) {
      const int at = (step * 32 + lane()) * c.held;
      float value[c.held][kVec], through[c.held], lanes[1];  // each up to: an element of a word, a word, a lane
#pragma unroll
      for (int k = 0; k < c.held; ++k) {
        const TileWord one = word(at + k);
#pragma unroll
        for (int e = 0; e < kVec; ++e) value[k][e] = one[e] + (e == 0 ? 0.0f : value[k][max_of(e - 1, 0)]);
        through[k] = value[k][kVec - 1] + (k == 0 ? 0.0f : through[max_of(k - 1, 0)]);
      }
      lanes[0] = through[c.held - 1];
      scan_lanes(lanes);
      const float before = before_step + from_lane_before(lanes[0]);
#pragma unroll
      for (int k = 0; k < c.held; ++k) {
        const float before_word = before_tile + (k == 0 ? before : before + through[max_of(k - 1, 0)]);
#pragma unroll
        for (int e = 0; e < kVec; ++e) value[k][e] += before_word;
        if (at + k < words) store(here + (at + k) * kVec, __builtin_bit_cast(Vector<T, kVec>, pack<T>(value[k])));
      }
      before_step += __shfl_sync(0xffffffffu, lanes[0], 31);
    }
  }

  /// Sends the tile away, and takes the number of the next one meanwhile.
  HONE_DEVICE void send() {
    T* const to = y + begin();
    if constexpr (kBulkCopies) fence_for_bulk();
    __syncwarp();
    if constexpr (!kBulkCopies) {
      for (int i = lane(); i < whole_words; i += 32) store_global(to + i * kVec, load<kVec>(here + i * kVec));
    } else if (lane() == 0 && whole_words > 0) {
      bulk_store<false>(to, here, whole_words * 16);
    }
    if (has_rest() && begin() + rest() < n) to[rest()] = here[rest()];
    tile = take_number(started);
    if constexpr (kBulkCopies) bulk_stores_left<0>();
    __syncwarp();
  }

  HONE_DEVICE void run() {
    if (kBulkCopies && lane() == 0) prepare_arrival(loaded);
    tile = take_number(started);
    for (unsigned phase = 0; begin() < n; phase ^= 1) {
      ask();
      bring(phase);
      add_up(sum_before(sum()));
      send();
    }
  }
};

// The first 8 bytes count the tiles that are taken, the others are what tiles tell: one workspace is one memory set.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.warps * 32 + 32, 1)
void scan(IN(p.n) const T* __restrict__ x, OUT(p.n) T* __restrict__ y,
          WORKSPACE_ZEROED(1 + ceil_div(p.n, tile_elements<T>(c))) double* tiles, Problem p) {
  __shared__ Arrival loaded[c.warps];
  __shared__ Question questions[c.warps];
  __shared__ float answers[32 * c.looks];
  SHARED_DYNAMIC(T, elements);
  volatile Told* told = reinterpret_cast<volatile Told*>(tiles + 1);
  const int warps = (int)(blockDim.x / 32) - 1, warp = (int)(threadIdx.x / 32);
  if (threadIdx.x < warps) questions[threadIdx.x] = {-1, 0};
  __syncthreads();
  if (warp < warps) {
    int* started = reinterpret_cast<int*>(tiles);
    T* const here = elements + warp * tile_elements<T>(c);
    Worker<T, c>{x, y, p.n, told, started, here, loaded + warp, questions + warp}.run();
  } else {
    Adder<c>{told, (int)ceil_div(p.n, tile_elements<T>(c)), questions, warps, answers}.run();
  }
}
