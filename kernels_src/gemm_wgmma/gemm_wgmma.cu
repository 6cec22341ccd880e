// Matrix product on Hopper's tensor cores: out[m, n] = sum over k of a[m, k] * b[k, n]; row-major, any m, n, k, accumulated in float.
#include <hone/kernel.h>
#include <hone/kernel_hopper.h>

struct Problem {
  long m = 1024, n = 1024, k = 1024;
};

// Some warpgroups (128 threads) multiply, one thread of another has the copy engine bring tiles of a and b into a ring of stages ahead of them.
// Blocks stay and take tile after tile of out.
struct Config {
  TUNE(64, 128, 192, 256) int bm = 128;      // rows of a block's tile: larger tiles read a and b less often, smaller ones are more
  TUNE(64, 128, 192, 256) int bn = 128;      // columns of a block's tile
  TUNE(1, 2, 3) int consumers = 2;           // warpgroups that multiply: more hold larger tiles in their registers
  TUNE(false, true) bool turns = false;      // each has tiles of its own, so that one writes a tile while the other multiplies
  TUNE(2, 3, 4, 5, 6, 7, 8) int stages = 4;  // k-steps of a and b in shared memory: enough to hide the latency of memory
  TUNE(1, 2) int cluster_m = 1;              // blocks one above the other that share columns of b: each fetches a part for both
  TUNE(1, 2) int cluster_n = 1;              // blocks side by side that share rows of a
  TUNE(1, 2, 4, 8) int cluster_k = 1;        // blocks that share one tile's sum over k, and add it up through each other's shared memory
  TUNE(1, 2, 4, 8, 16) int raster = 8;       // row tiles that run side by side, so that the columns of b they share stay in L2
  TUNE(1, 2, 4, 8) int split = 1;            // parts of k for tiles that would leave multiprocessors idle. Costs a second pass
  TUNE(78, 112, 114, 120, 128, 132, 264) int blocks = 132;  // that stay on the device: its multiprocessors, or twice as many
  TUNE(false, true) bool staged = false;     // tiles leave by way of shared memory and the copy engine instead of from registers
  TUNE(false, true) bool repack = false;     // a and b are copied first: the copy engine takes rows that are multiples of 16 bytes
  TUNE(0, 1, 2) int once = 0;                // a (1) or b (2) is read once and need not stay in L2
  TUNE(128, 256) int fetch = 128;            // bytes that L2 reads at a time
};

constexpr int kDepth = 64;       // of a k-step: 128 bytes, the widest swizzle
constexpr int kMostBlocks = 264;

// ---- sizes --------------------------------------------------------------------------------------------------------------------------------
/// Blocks of a cluster that have tiles of their own, and share what they read.
HONE_BOTH constexpr int sharers_of(Config c) { return c.cluster_m * c.cluster_n; }
HONE_BOTH constexpr int cluster_of(Config c) { return sharers_of(c) * c.cluster_k; }
/// Rows that one warpgroup multiplies.
HONE_BOTH constexpr int rows_of(Config c) { return c.turns ? c.bm : c.bm / c.consumers; }
HONE_BOTH constexpr int sums_of(Config c) { return rows_of(c) * c.bn / 128; }
HONE_BOTH constexpr int threads_of(Config c) { return 128 * (c.consumers + 1); }
HONE_BOTH constexpr int stage_bytes(Config c) { return (c.bm + c.bn) * kDepth * 2; }
/// Two panels of 64 x 64 for each warpgroup: one is written while the other leaves.
HONE_BOTH constexpr int staging_bytes(Config c) { return c.staged ? c.consumers * 2 * 8192 : 0; }
/// 1024 to begin at a multiple of that, 256 for barriers.
HONE_BOTH constexpr int shared_bytes(Config c) { return 1024 + c.stages * stage_bytes(c) + staging_bytes(c) + 256; }
HONE_BOTH constexpr int residency_of(Config c) { return c.blocks > 132 ? 2 : 1; }

HONE_BOTH constexpr long tiles_m(Problem p, Config c) { return round_up(ceil_div(p.m, (long)c.bm), (long)c.cluster_m); }
HONE_BOTH constexpr long tiles_n(Problem p, Config c) { return round_up(ceil_div(p.n, (long)c.bn), (long)c.cluster_n); }
HONE_BOTH constexpr long steps_of(Problem p) { return ceil_div(p.k, (long)kDepth); }
/// Tiles of a cluster.
HONE_BOTH constexpr long tiles_of(Problem p, Config c) { return tiles_m(p, c) * tiles_n(p, c) / sharers_of(c); }
HONE_BOTH constexpr long clusters_of(Config c) { return c.blocks / cluster_of(c); }
/// Tiles that fill no wave, and into how many parts of k each is split.
HONE_BOTH constexpr long rest_of(Problem p, Config c) { return tiles_of(p, c) % clusters_of(c); }
HONE_BOTH constexpr long parts_of(Problem p, Config c) {
  return rest_of(p, c) == 0 ? 1 : min_of((long)c.split, clusters_of(c) / rest_of(p, c));
}
/// Tiles that are not split.
HONE_BOTH constexpr long unsplit_of(Problem p, Config c) { return parts_of(p, c) > 1 ? tiles_of(p, c) - rest_of(p, c) : tiles_of(p, c); }
/// Pieces of work: tiles, then the parts of split ones.
HONE_BOTH constexpr long work_of(Problem p, Config c) {
  return parts_of(p, c) > 1 ? unsplit_of(p, c) + rest_of(p, c) * parts_of(p, c) : tiles_of(p, c);
}
/// Floats from one row of sums in shared memory to the next: 8 more than it needs, against bank conflicts.
HONE_BOTH constexpr int pitch_of(Config c) { return c.bn + 8; }
/// Elements from one row of a copy to the next: rows of boxes, 128 bytes, are lines of L2.
HONE_BOTH constexpr long padded(long row) { return round_up(row, 64L); }
HONE_BOTH constexpr bool aligned(Problem p) { return p.k % 8 == 0 && p.n % 8 == 0; }

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (d.compute_capability != 90) return false;                              // wgmma is Hopper's alone
  if (c.turns && c.consumers != 2) return false;                             // they take turns in pairs
  if (c.turns && c.bm > 128) return false;                                   // the sums alone would fill the registers
  if (!c.turns && c.bm % (64 * c.consumers) != 0) return false;              // a product has 64 rows
  if (rows_of(c) > 128) return false;                                        // two products to a warpgroup at most
  if (sums_of(c) > (c.consumers == 3 ? 96 : 128)) return false;              // of 232 registers, or 160
  if (c.consumers > 1 && c.blocks > 132) return false;                       // two blocks to a multiprocessor need small ones
  if (c.blocks > 132 && sums_of(c) > 64) return false;                       // with half of its registers each
  if (c.blocks > d.multiprocessors * residency_of(c)) return false;          // all blocks are there at once
  if (shared_bytes(c) > d.shared_memory_per_block) return false;             // the device's limit
  if (shared_bytes(c) * residency_of(c) > d.shared_memory_per_multiprocessor) return false;  // the same for two
  if (c.cluster_m * c.cluster_n > 2) return false;                           // larger clusters wait for each other
  if (c.cluster_k > 1 && (sharers_of(c) > 1 || c.split > 1)) return false;   // one way to share at a time
  if (c.cluster_k > 1 && (c.turns || c.staged)) return false;                // sums leave another way
  if (c.cluster_k > 1 && tiles_of(p, c) > clusters_of(c)) return false;      // one tile each: the sums take the place of the stages
  if (c.cluster_k * 2 > max_of(2L, steps_of(p))) return false;               // a part of k is worth at least two steps
  if (c.cluster_k > 1 && c.bm * pitch_of(c) * 4 > c.stages * stage_bytes(c)) return false;  // where they must fit
  if (c.blocks % cluster_of(c) != 0) return false;                           // whole clusters
  if (c.cluster_m > 1 && c.cluster_m > ceil_div(p.m, (long)c.bm)) return false;  // a block without a tile
  if (c.cluster_n > 1 && c.cluster_n * c.bn >= p.n + c.bn) return false;     // the same along n
  if (c.repack == aligned(p)) return false;                                  // needless, or needed
  if (c.repack && c.staged) return false;                                    // out's rows are no multiples of 16 bytes either
  if (c.staged && c.split > 1) return false;                                 // partial sums leave from registers
  if (c.bm > 64 && c.bm >= 2 * p.m) return false;                            // more than half of every tile is outside
  if (c.bn > 64 && c.bn >= 2 * p.n) return false;                            // the same along n
  if (c.raster > 1 && c.raster * c.cluster_m > tiles_m(p, c)) return false;  // the same order as with a smaller one
  if (c.split > 1 && c.split * 2 > steps_of(p)) return false;             // a part of k is worth at least two steps
  if (c.split > 1 && parts_of(p, c) < c.split) return false;                 // the same as with a smaller one
  return c.split == 1 || c.split * c.bm * c.bn * 4 <= 1 << 20;               // partial sums that fit no cache cost more than they gain
}

constexpr Launch launch_gemm_wgmma_pack(Problem p, Config c) {
  return {.grid = {ceil_div(max_of(p.m * ceil_div(p.k, 8L), p.k * ceil_div(p.n, 8L)), 4L * 256), 2}, .block = {256}, .enabled = c.repack};
}
constexpr Launch launch_gemm_wgmma(Problem p, Config c) {
  return {.grid = {min_of(clusters_of(c), work_of(p, c)) * cluster_of(c)},
          .block = {threads_of(c)},
          .cluster = {cluster_of(c)},
          .shared = shared_bytes(c)};
}
constexpr Launch launch_gemm_wgmma_sum(Problem p, Config c) {
  return {.grid = {c.bm / 4, max_of(1L, rest_of(p, c) * cluster_of(c))}, .block = {256}, .enabled = parts_of(p, c) > 1};
}

template <class T> constexpr Cost cost(Problem p) {
  return {.flops = 2.0 * p.m * p.n * p.k,
          .bytes = (1.0 * p.m * p.k + 1.0 * p.k * p.n + 1.0 * p.m * p.n) * sizeof(T),
          .sum_length = 1.0 * p.k};
}

template <class T> REFERENCE(p.m * p.n) void gemm_wgmma_reference(long i, const T* a, const T* b, double* out, Problem p) {
  const long row = i / p.n, column = i % p.n;
  double sum = 0;
  for (long k = 0; k < p.k; ++k) sum += (double)(float)a[row * p.k + k] * (double)(float)b[k * p.n + column];
  out[i] = sum;
}

// ---- who computes what --------------------------------------------------------------------------------------------------------------------
/// One piece of work of a block.
struct Work {
  long tile;                   // of the cluster
  int row_tile, column_tile;   // of the block
  int begin, end;              // k-steps
  int part;                    // -1: the tile is not split
};

/// Work number `index`, for the block of this place in its cluster. Row tiles run in groups of c.raster.
template <Config c> HONE_DEVICE Work work_at(Problem p, long index, int rank) {
  Work work;
  const long unsplit = unsplit_of(p, c), rest = tiles_of(p, c) - unsplit;
  const int steps = (int)steps_of(p);
  work.part = -1;
  work.tile = index;
  work.begin = 0;
  work.end = steps;
  if (c.split > 1 && index >= unsplit) {
    const int parts = (int)parts_of(p, c);
    work.part = (int)((index - unsplit) / rest);
    work.tile = unsplit + (index - unsplit) % rest;
    work.begin = steps * work.part / parts;
    work.end = steps * (work.part + 1) / parts;
  }
  if (c.cluster_k > 1) {
    work.begin = steps * rank / c.cluster_k;
    work.end = steps * (rank + 1) / c.cluster_k;
  }
  const int place = c.cluster_k > 1 ? 0 : rank;  // of the block's tile in the cluster's
  const int tile = (int)work.tile, high = (int)(tiles_m(p, c) / c.cluster_m), wide = (int)(tiles_n(p, c) / c.cluster_n);
  const int per_group = c.raster * wide, group = tile / per_group, height = min_of(c.raster, high - group * c.raster);
  const int within = tile % per_group;
  work.row_tile = (group * c.raster + within % height) * c.cluster_m + place % c.cluster_m;
  work.column_tile = within / height * c.cluster_n + place / c.cluster_m;
  return work;
}

#if defined(HONE_HOPPER)
// ---- shared memory ------------------------------------------------------------------------------------------------------------------------
template <Config c> struct Places {
  hopper::u32 base, barriers;
  HONE_DEVICE explicit Places(const void* memory) {
    base = (hopper::shared_address(memory) + 1023) / 1024 * 1024;
    barriers = base + c.stages * stage_bytes(c) + staging_bytes(c);
  }
  HONE_DEVICE hopper::u32 a(int stage) const { return base + stage * stage_bytes(c); }
  HONE_DEVICE hopper::u32 b(int stage) const { return a(stage) + c.bm * kDepth * 2; }
  HONE_DEVICE hopper::u32 staging() const { return base + c.stages * stage_bytes(c); }
  HONE_DEVICE hopper::u32 full(int stage) const { return barriers + stage * 8; }            // the stage has arrived
  HONE_DEVICE hopper::u32 empty(int stage) const { return barriers + (c.stages + stage) * 8; }  // it may be overwritten
  HONE_DEVICE hopper::u32 turn(int group) const { return barriers + (2 * c.stages + group) * 8; }  // this warpgroup may multiply
};

/// A position in the ring of stages.
template <Config c> struct Ring {
  int stage = 0;
  hopper::u32 parity = 0;
  HONE_DEVICE void advance() {
    if (++stage == c.stages) {
      stage = 0;
      parity ^= 1;
    }
  }
  HONE_DEVICE void skip(int steps) {
    stage += steps;
    parity ^= stage / c.stages & 1;
    stage %= c.stages;
  }
};

// ---- from memory to shared memory ---------------------------------------------------------------------------------------------------------
template <Config c> struct Producer {
  const TensorMap &a_map, &b_map;
  Problem p;
  Places<c> places;
  int rank;

  /// What is read once goes from L2 first; what many blocks read then stays.
  template <bool once> HONE_DEVICE void copy(hopper::u32 to, const TensorMap& map, int x, int y, int stage, bool for_all) const {
    const hopper::u64 policy = once ? hopper::kEvictFirst : hopper::kEvictNormal;
    if (for_all) {
      hopper::copy_box(to, map, x, y, places.full(stage), policy, 3);
    } else {
      hopper::copy_box(to, map, x, y, places.full(stage), policy);
    }
  }

  /// A part of the tile of a: with cluster_n blocks each fetches some rows for all.
  HONE_DEVICE void fetch_a(const Work& work, int k, int stage) const {
    constexpr int kRows = c.bm / c.cluster_n;
    const int first = c.cluster_n > 1 ? rank * kRows : 0;
    copy<c.once == 1>(places.a(stage) + first * 128, a_map, k, work.row_tile * c.bm + first, stage, c.cluster_n > 1);
  }

  /// The tile of b, 64 columns after another.
  HONE_DEVICE void fetch_b(const Work& work, int k, int stage) const {
    constexpr int kRows = kDepth / c.cluster_m;
    const int first = c.cluster_m > 1 ? rank * kRows : 0;
#pragma unroll
    for (int panel = 0; panel < c.bn / 64; ++panel) {
      const hopper::u32 to = places.b(stage) + panel * (kDepth * 128) + first * 128;
      copy<c.once == 2>(to, b_map, work.column_tile * c.bn + panel * 64, k + first, stage, c.cluster_m > 1);
    }
  }

  HONE_DEVICE void run() const {
    Ring<c> ring;
    const long clusters = gridDim.x / cluster_of(c);
    for (long index = blockIdx.x / cluster_of(c); index < work_of(p, c); index += clusters) {
      const Work work = work_at<c>(p, index, rank);
      for (int step = work.begin; step < work.end; ++step) {
        hopper::barrier_wait(places.empty(ring.stage), ring.parity ^ 1);
        hopper::barrier_arrive_expect(places.full(ring.stage), stage_bytes(c));
        fetch_a(work, step * kDepth, ring.stage);
        fetch_b(work, step * kDepth, ring.stage);
        ring.advance();
      }
    }
  }
};

// ---- products -----------------------------------------------------------------------------------------------------------------------------
template <class T, Config c> struct Consumer {
  static constexpr int kProducts = rows_of(c) / 64;  // one above the other
  Problem p;
  Places<c> places;
  int rank, group, thread;  // of the cluster, warpgroup of the block, thread of the warpgroup
  int panel_buffer = 0;     // the next to write
  float sums[kProducts][c.bn / 2];

  /// The warpgroup has read a stage: every block that writes into it may know.
  HONE_DEVICE void release(int stage) const {
    if constexpr (sharers_of(c) == 1) {
      if (thread == 0) hopper::barrier_arrive(places.empty(stage));
    } else {
      if (thread < sharers_of(c)) hopper::barrier_arrive_at(places.empty(stage), thread);
    }
  }

  /// Operands both in shared memory: a's lines run along k, b's along n.
  HONE_DEVICE void multiply(int stage, bool first) {
    const hopper::u32 rows = places.a(stage) + (c.turns ? 0 : group * rows_of(c) * 128);
    const hopper::u64 a = hopper::operand(rows, 16, 1024), b = hopper::operand(places.b(stage), kDepth * 128, 1024);
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k) {
#pragma unroll
      for (int i = 0; i < kProducts; ++i) {
        hopper::multiply_add<T, c.bn, false, true>(sums[i], a + (k * 32 + i * 64 * 128) / 16, b + k * 2048 / 16, !first || k > 0);
      }
    }
  }

  /// Adds up the work's k-steps: while one is multiplied the one before is given back.
  HONE_DEVICE void accumulate(const Work& work, Ring<c>& ring) {
    int before = 0;
    for (int step = work.begin; step < work.end; ++step) {
      hopper::barrier_wait(places.full(ring.stage), ring.parity);
      hopper::products_begin();
      multiply(ring.stage, step == work.begin);
      hopper::products_commit();
      hopper::products_wait<1>();
      if (step > work.begin) release(before);
      before = ring.stage;
      ring.advance();
    }
    hopper::products_wait<0>();
    if (work.end > work.begin) release(before);
  }

  HONE_DEVICE static hopper::u32 pair(float low, float high) {
    return (hopper::u32)T(low).bits | (hopper::u32)T(high).bits << 16;
  }

  /// First row (of the tile) and lane of this thread's part of product i.
  HONE_DEVICE int row_of(int i) const { return (c.turns ? 0 : group * rows_of(c)) + i * 64 + thread / 32 * 16 + thread % 32 / 4; }

  /// Partial sums of a split tile.
  HONE_DEVICE void write_partial(float* partial, const Work& work) const {
    const long slot = (work.part * rest_of(p, c) + work.tile - unsplit_of(p, c)) * cluster_of(c) + rank;
    float* const to = partial + slot * (c.bm * c.bn) + thread % 4 * 2;
#pragma unroll
    for (int i = 0; i < kProducts; ++i) {
#pragma unroll
      for (int j = 0; j < c.bn / 8; ++j) {
        float* const at = to + row_of(i) * c.bn + j * 8;
        store(at, Vector<float, 2>{sums[i][4 * j], sums[i][4 * j + 1]});
        store(at + 8 * c.bn, Vector<float, 2>{sums[i][4 * j + 2], sums[i][4 * j + 3]});
      }
    }
  }

  /// The four lanes of a row exchange, so that each has 8 neighbouring columns instead of 2 in each of four places.
  HONE_DEVICE static void exchange(hopper::u32 (&word)[4]) {
    const bool odd = threadIdx.x & 1, upper = threadIdx.x & 2;
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      const hopper::u32 got = __shfl_xor_sync(0xffffffffu, odd ? word[i] : word[i + 1], 1);
      word[i] = odd ? got : word[i];
      word[i + 1] = odd ? word[i + 1] : got;
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const hopper::u32 got = __shfl_xor_sync(0xffffffffu, upper ? word[i] : word[i + 2], 2);
      word[i] = upper ? got : word[i];
      word[i + 2] = upper ? word[i + 2] : got;
    }
  }

  /// From registers, 16 bytes at a time: rows are aligned.
  HONE_DEVICE void write(T* out, const Work& work) const {
    const long column = (long)work.column_tile * c.bn + thread % 4 * 8;
#pragma unroll
    for (int i = 0; i < kProducts; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const long row = (long)work.row_tile * c.bm + row_of(i) + half * 8;
        T* const to = out + row * p.n + column;
#pragma unroll
        for (int j = 0; j < c.bn / 8; j += 4) {
          hopper::u32 word[4];
#pragma unroll
          for (int e = 0; e < 4; ++e) word[e] = pair(sums[i][4 * (j + e) + half * 2], sums[i][4 * (j + e) + half * 2 + 1]);
          exchange(word);
          if (row < p.m && column + j * 8 < p.n) {
            *reinterpret_cast<uint4*>(to + j * 8) = make_uint4(word[0], word[1], word[2], word[3]);
          }
        }
      }
    }
  }

  /// Two elements at a time, in rows that begin anywhere: where a row begins at an odd element, each lane has the second of its pair and the
  /// first of its neighbour's.
  HONE_DEVICE void write_anywhere(T* out, const Work& work) const {
    const int lane = thread % 32, next_lane = lane / 4 * 4 + (lane + 1) % 4;
#pragma unroll
    for (int i = 0; i < kProducts * 2; ++i) {
      const float* const mine = sums[i / 2] + i % 2 * 2;
      const long row = (long)work.row_tile * c.bm + row_of(i / 2) + i % 2 * 8, first = (long)work.column_tile * c.bn + lane % 4 * 2;
      const int odd = (int)(row * p.n & 1);
      const int left = row < p.m ? (int)min_of(p.n - first, (long)c.bn) : 0;  // columns to write, from `first`
      T* const to = out + row * p.n + first;
      if (odd && lane % 4 == 0 && left > 0) to[0] = T(mine[0]);
#pragma unroll
      for (int j = 0; j < c.bn / 8; ++j) {
        const bool last = j + 1 == c.bn / 8;
        const hopper::u32 word = pair(mine[4 * j], mine[4 * j + 1]), after = pair(mine[last ? 0 : 4 * j + 4], 0);
        const hopper::u32 next = __shfl_sync(0xffffffffu, lane % 4 == 0 ? after : word, next_lane);
        const hopper::u32 both = odd ? __funnelshift_r(word, next, 16) : word;
        const int column = j * 8 + odd;
        if (column + 1 < left && !(last && odd && lane % 4 == 3)) {
          *reinterpret_cast<hopper::u32*>(to + column) = both;
        } else if (column < left) {
          to[column] = __builtin_bit_cast(T, (hopper::u16)both);
        }
      }
    }
  }

  /// By way of shared memory: one 64 x 64 panel with the copy engine's swizzle after another.
  HONE_DEVICE void write_staged(const TensorMap& map, const Work& work) {
    constexpr int kAcross = c.bn / 64;
    const int line = thread / 32 * 16 + thread / 8 % 2 * 8 + thread % 8, chunk = thread % 32 / 16;
#pragma unroll
    for (int panel = 0; panel < kProducts * kAcross; ++panel) {
      const hopper::u32 mine = places.staging() + (group * 2 + panel_buffer) * 8192;
      panel_buffer ^= 1;
      if (thread == 0) hopper::store_wait_read<1>();
      hopper::named_barrier(1 + group, 128);
#pragma unroll
      for (int j = 0; j < 8; j += 2) {
        const float* s = sums[panel / kAcross] + panel % kAcross * 32 + 4 * j;
        hopper::store_matrices(mine + line * 128 + ((j + chunk) ^ line % 8) * 16, pair(s[0], s[1]), pair(s[2], s[3]), pair(s[4], s[5]),
                               pair(s[6], s[7]));
      }
      hopper::fence_async();
      hopper::named_barrier(1 + group, 128);
      const int row = work.row_tile * c.bm + (c.turns ? 0 : group * rows_of(c)) + panel / kAcross * 64;
      const int column = work.column_tile * c.bn + panel % kAcross * 64;
      if (thread == 0) {
        if (row < p.m && column < p.n) hopper::store_box(map, column, row, mine);
        hopper::store_commit();
      }
    }
  }

  /// The cluster's parts of one sum: each block leaves its own where its stages were, then adds up some rows of all.
  HONE_DEVICE hopper::u32 part_at(int row, int column) const { return places.base + (row * pitch_of(c) + column) * 4; }
  HONE_DEVICE void leave_part() const {
    hopper::named_barrier(1, 128 * c.consumers);  // every warpgroup has read the last stages
#pragma unroll
    for (int i = 0; i < kProducts * 2; ++i) {
#pragma unroll
      for (int j = 0; j < c.bn / 8; ++j) {
        const float* const s = sums[i / 2] + 4 * j + i % 2 * 2;
        hopper::store_pair(part_at(row_of(i / 2) + i % 2 * 8, j * 8 + thread % 4 * 2), s[0], s[1]);
      }
    }
  }
  HONE_DEVICE void add_parts(T* out) const {
    constexpr int kRows = c.bm / c.cluster_k;
    const Work work = work_at<c>(p, blockIdx.x / cluster_of(c), rank);
    for (int i = (group * 128 + thread) * 4; i < kRows * c.bn; i += 512 * c.consumers) {
      const int row = rank * kRows + i / c.bn, column = i % c.bn;
      const long at_row = (long)work.row_tile * c.bm + row, at_column = (long)work.column_tile * c.bn + column;
      if (at_row >= p.m || at_column >= p.n) continue;
      float all[4] = {};
#pragma unroll
      for (int block = 0; block < c.cluster_k; ++block) {
        float part[4];
        hopper::load_remote(part, hopper::address_in(part_at(row, column), block));
#pragma unroll
        for (int e = 0; e < 4; ++e) all[e] += part[e];
      }
      T* const to = out + at_row * p.n + at_column;
      if constexpr (c.repack) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          if (at_column + e < p.n) to[e] = T(all[e]);
        }
      } else {
        store(to, Vector<T, 4>{T(all[0]), T(all[1]), T(all[2]), T(all[3])});
      }
    }
  }

  HONE_DEVICE void run(T* out, float* partial, const TensorMap& out_map) {
    Ring<c> ring;
    hopper::u32 turn = 0;
    const long clusters = gridDim.x / cluster_of(c);
    int count = 0;
    for (long index = blockIdx.x / cluster_of(c); index < work_of(p, c); index += clusters, ++count) {
      const Work work = work_at<c>(p, index, rank);
      if (c.turns && count % 2 != group) {
        ring.skip(work.end - work.begin);
        continue;
      }
      if constexpr (c.turns) hopper::barrier_wait(places.turn(group), turn);
      accumulate(work, ring);
      if constexpr (c.turns) {
        if (thread == 0) hopper::barrier_arrive(places.turn(1 - group));
        turn ^= 1;
      }
      if constexpr (c.cluster_k > 1) {
        leave_part();
      } else if (c.split > 1 && work.part >= 0) {
        write_partial(partial, work);
      } else if constexpr (c.staged) {
        write_staged(out_map, work);
      } else if constexpr (c.repack) {
        write_anywhere(out, work);
      } else {
        write(out, work);
      }
    }
    if (c.staged && thread == 0) hopper::store_wait_read<0>();
  }
};

template <Config c> HONE_DEVICE void prepare(const Places<c>& places) {
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < c.stages; ++stage) {
      hopper::barrier_init(places.full(stage), 1);
      hopper::barrier_init(places.empty(stage), sharers_of(c) * (c.turns ? 1 : c.consumers));
    }
    if constexpr (c.turns) {
      hopper::barrier_init(places.turn(0), 1);
      hopper::barrier_init(places.turn(1), 1);
      hopper::barrier_arrive(places.turn(0));
    }
    hopper::fence_barrier_init();
  }
  if constexpr (cluster_of(c) > 1) {
    hopper::cluster_sync();
  } else {
    __syncthreads();
  }
}
#endif

/// Copies a matrix so that its rows begin at multiples of 16 bytes: words of 8 elements, each taken from two aligned ones.
template <class T> HONE_DEVICE void pack(const T* from, T* to, long rows, long row) {
  const unsigned per_row = (unsigned)ceil_div(row, 8L);
  const long count = rows * row;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned index = (blockIdx.x * 4 + i) * 256 + threadIdx.x;
    if (index >= rows * per_row) continue;
    const unsigned line = index / per_row, word_of_line = index % per_row;
    const long first = line * row + word_of_line * 8, begin = first / 8 * 8;
    const int shift = (int)(first % 8);
    Vector<T, 8> word;
    if (begin + 16 <= count) {
      const Vector<T, 8> low = load<8>(from + begin), high = load<8>(from + begin + 8);
      const Vector<unsigned, 4> a = __builtin_bit_cast(Vector<unsigned, 4>, low), b = __builtin_bit_cast(Vector<unsigned, 4>, high);
      unsigned all[8] = {a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]};
#pragma unroll
      for (int e = 0; e < 6; ++e) all[e] = shift & 4 ? all[e + 2] : all[e];
#pragma unroll
      for (int e = 0; e < 5; ++e) all[e] = shift & 2 ? all[e + 1] : all[e];
      Vector<unsigned, 4> both;
#pragma unroll
      for (int e = 0; e < 4; ++e) both[e] = (unsigned)(((unsigned long)all[e + 1] << 32 | all[e]) >> (shift & 1) * 16);
      word = __builtin_bit_cast(decltype(word), both);
    } else {
#pragma unroll
      for (int e = 0; e < 8; ++e) word[e] = first + e < count ? from[first + e] : T(0.0f);
    }
    store(to + line * padded(row) + word_of_line * 8, word);
  }
}

template <class T, Config c>
KERNEL DTYPES(bf16, f16) LAUNCH_BOUNDS(256)
void gemm_wgmma_pack(IN(p.m * p.k) const T* __restrict__ a, IN(p.k * p.n) const T* __restrict__ b,
                     WORKSPACE(c.repack ? p.m * padded(p.k) : 1) T* __restrict__ packed_a,
                     WORKSPACE(c.repack ? p.k * padded(p.n) : 1) T* __restrict__ packed_b, Problem p) {
  if (blockIdx.y == 0) {
    pack(a, packed_a, p.m, p.k);
  } else {
    pack(b, packed_b, p.k, p.n);
  }
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(threads_of(c), residency_of(c))
void gemm_wgmma(OUT(p.m * p.n) T* __restrict__ out, WORKSPACE(c.split > 1 ? kMostBlocks * c.bm * c.bn : 1) float* __restrict__ partial,
                TENSOR_MAP(a, .size = {c.repack ? 0 : p.k, p.m}, .box = {kDepth, c.bm / c.cluster_n}, .swizzle = 128,
                           .l2 = c.fetch)
                const __grid_constant__ TensorMap a_map,
                TENSOR_MAP(b, .size = {c.repack ? 0 : p.n, p.k}, .box = {64, kDepth / c.cluster_m}, .swizzle = 128,
                           .l2 = c.fetch)
                const __grid_constant__ TensorMap b_map,
                TENSOR_MAP(packed_a, .size = {c.repack ? p.k : 0, p.m}, .box = {kDepth, c.bm / c.cluster_n}, .swizzle = 128,
                           .stride = {1, padded(p.k)}, .l2 = c.fetch)
                const __grid_constant__ TensorMap packed_a_map,
                TENSOR_MAP(packed_b, .size = {c.repack ? p.n : 0, p.k}, .box = {64, kDepth / c.cluster_m}, .swizzle = 128,
                           .stride = {1, padded(p.n)}, .l2 = c.fetch)
                const __grid_constant__ TensorMap packed_b_map,
                TENSOR_MAP(out, .size = {c.staged ? p.n : 0, p.m}, .box = {64, 64}, .swizzle = 128)
                const __grid_constant__ TensorMap out_map,
                Problem p) {
#if defined(HONE_HOPPER)
  SHARED_DYNAMIC(unsigned char, memory);
  const Places<c> places(memory);
  const int rank = cluster_of(c) > 1 ? (int)hopper::cluster_rank() : 0;
  prepare(places);
  if (threadIdx.x < 128) {
    if constexpr (c.consumers > 1) hopper::give_registers<c.consumers == 2 ? 40 : 32>();
    if (threadIdx.x == 0) Producer<c>{c.repack ? packed_a_map : a_map, c.repack ? packed_b_map : b_map, p, places, rank}.run();
    __syncwarp();
    if constexpr (c.cluster_k > 1) hopper::cluster_sync();
  } else {
    if constexpr (c.consumers > 1) hopper::take_registers<c.consumers == 2 ? 232 : 160>();
    Consumer<T, c> consumer{p, places, rank, (int)threadIdx.x / 128 - 1, (int)threadIdx.x % 128};
    consumer.run(out, partial, out_map);
    if constexpr (c.cluster_k > 1) {
      hopper::cluster_sync();
      consumer.add_parts(out);
    }
  }
  if constexpr (cluster_of(c) > 1) hopper::cluster_sync();  // a block must not end while its shared memory is another's
#endif
}

/// Adds the parts of k of split tiles, in their order: the result does not depend on which block ended first.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(256)
void gemm_wgmma_sum(OUT(p.m * p.n) T* __restrict__ out, WORKSPACE(c.split > 1 ? kMostBlocks * c.bm * c.bn : 1) const float* __restrict__ partial,
                    Problem p) {
  const long slots = rest_of(p, c) * cluster_of(c);
  const int slot = (int)blockIdx.y, rank = slot % cluster_of(c);
  const Work work = work_at<c>(p, unsplit_of(p, c) + slot / cluster_of(c), rank);
  for (int i = (int)threadIdx.x * 4; i < 4 * c.bn; i += 1024) {
    const int row = (int)blockIdx.x * 4 + i / c.bn, column = i % c.bn;
    float sums[4] = {};
#pragma unroll
    for (int part = 0; part < c.split; ++part) {
      if (part >= (int)parts_of(p, c)) continue;
      const Vector<float, 4> add = load<4>(partial + (part * slots + slot) * (c.bm * c.bn) + row * c.bn + column);
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[e] += add[e];
    }
    const long at_row = (long)work.row_tile * c.bm + row, at_column = (long)work.column_tile * c.bn + column;
    if (at_row >= p.m) continue;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (at_column + e < p.n) out[at_row * p.n + at_column + e] = T(sums[e]);
    }
  }
}
