// Matrix product on the CUDA cores: out = activation(alpha * a b + beta * added + bias), a and b each transposed or not, any
// m, n, k; sums in float.
#include <hone/kernel.h>
#include <hone/kernel_hopper.h>

struct Problem {
  long m = 1024, n = 1024, k = 1024;
  RANGE(1, 4) STATIC long layout = 1;      // how a and b lie: 1 a[m, k] b[k, n], 2 a[m, k] b[n, k], 3 a[k, m] b[k, n], 4 a[k, m] b[n, k]
  RANGE(1, 4) STATIC long terms = 1;       // what is added to alpha * a b: 1 nothing, 2 beta * added[m, n], 3 bias[n], 4 both
  RANGE(1, 4) STATIC long activation = 1;  // 1 none, 2 relu, 3 gelu, 4 silu
};

// A block computes bm x bn elements of out, a warp a part of them, a thread tm x tn, in steps of bk along k. Shared memory holds the tiles
// of a and b as floats, k by k, so that a thread finds its rows and columns side by side. The default is the fastest at 4096x4096x4096,
// 8192x8192x8192 and 128x14336x4096 in f32 on an H200; problems for which it is not legal begin with the nearest legal configuration.
struct Config {
  TUNE(16, 32, 64, 128, 256) int bm = 64;  // rows of the block's tile: larger tiles read a and b less often, smaller ones give more blocks
  TUNE(32, 64, 128, 256) int bn = 256;     // columns of the block's tile
  TUNE(8, 16, 32) int bk = 8;              // depth of one step: deeper steps synchronize less and hold more shared memory
  TUNE(4, 8, 16) int tm = 16;              // rows a thread computes: more reuse of each shared read, more registers
  TUNE(4, 8, 16) int tn = 8;               // columns a thread computes
  TUNE(8, 16) int lanes = 16;              // lanes of a warp along n, the others along m: nearly square warps read shared memory least
  TUNE(1, 2, 4, 8) int vec = 4;            // elements in one access to a, b and out; rows must be a multiple of it
  TUNE(4, 8) int along = 8;                // at least so many threads on a line of a tile that is transposed: more read longer runs, fewer
                                           // need fewer addresses
  TUNE(false, true) bool async = true;     // cp.async loads tiles into shared memory; else they go through registers
  TUNE(1, 2, 3, 4) int stages = 2;         // tiles of a and b in shared memory: one is used while the others are loaded
  TUNE(false, true) bool stream_k = true;  // `residency` persistent blocks for each multiprocessor instead of one for each tile; blocks share
                                           // the tiles of the last round along k, and another pass adds up their parts: no idle round
  TUNE(1, 2, 4) int slices = 1;            // sets of warps that share each step along k: more warps for few or small tiles
  TUNE(1, 2, 4, 8) int cluster = 1;        // blocks that share a tile's sum over k and reduce it through distributed shared memory (Hopper)
  TUNE(8, 16) int raster = 8;              // row tiles that run side by side, so that the columns of b they share stay in L2
  TUNE(1, 2, 3, 4, 6, 8) int residency = 2;  // blocks that must fit one multiprocessor: caps the registers
  TUNE(false, true) bool skip = false;     // warps whose part lies outside of out compute nothing: for ragged shapes, costs a branch in each step
  TUNE(false, true) bool read_on = false;  // tiles that reach beyond the matrix read its last row again, or on in the next line, which nobody
                                           // sees; else each word outside is found in every step. For ragged shapes
  TUNE(false, true) bool pad = false;      // a first pass copies b to lines of whole words: wide accesses where n is ragged
};
#include "../product.h"

HONE_BOTH constexpr int threads_of(const Config& c) { return c.bm / c.tm * (c.bn / c.tn) * c.slices; }
/// Elements of one access to a k-major operand, whose tile is transposed on its way into shared memory. cp.async can transpose single
/// floats only.
HONE_BOTH constexpr int k_major_vec(const Config& c) { return c.async ? 1 : c.vec; }
/// Threads that read a line of a k-major tile of `rows` lines.
HONE_BOTH constexpr int k_major_lanes(const Config& c, int rows) { return min_of(c.bk / k_major_vec(c), max_of(c.along, threads_of(c) / rows)); }
/// Floats from one k of a tile to the next. A k-major tile has padding, so that lanes that transpose it use different banks.
HONE_BOTH constexpr int pitch_of(const Config& c, int rows, bool k_major) {
  return k_major ? rows + max_of(4, 32 / (k_major_lanes(c, rows) * k_major_vec(c))) : rows;
}
HONE_BOTH constexpr int pitch_a(const Config& c) { return pitch_of(c, c.bm, a_is_k_major()); }
HONE_BOTH constexpr int pitch_b(const Config& c) { return pitch_of(c, c.bn, b_is_k_major()); }
HONE_BOTH constexpr int stage_floats(const Config& c) { return c.bk * (pitch_a(c) + pitch_b(c)); }
/// Whether sums of several threads are reduced in shared memory.
HONE_BOTH constexpr bool joins(const Config& c) { return c.slices > 1 || c.cluster > 1; }
/// The stages, each with room for the padding of transposed tiles (16 floats for each k and operand); later the sums to reduce.
constexpr int shared_bytes(Config c) {
  return 4 * max_of(c.stages * c.bk * (c.bm + c.bn + 32), joins(c) ? c.slices * c.bm * c.bn : 0);
}
/// Elements of one access to out, whose rows are as ragged as those of b before the first pass.
HONE_BOTH constexpr int out_vec(const Config& c) { return c.pad ? 1 : c.vec; }
/// Lines of the k-major tiles in which a thread has words: each takes an address.
constexpr int lines_of(Config c, int rows) { return ceil_div(rows * k_major_lanes(c, rows), threads_of(c)); }
constexpr int k_major_lines(Config c) {
  return max_of(a_is_k_major() ? lines_of(c, c.bm) : 0, b_is_k_major() ? lines_of(c, c.bn) : 0);
}
/// Elements of both tiles that a thread copies into shared memory in one step.
HONE_BOTH constexpr int carried(const Config& c) { return (c.bm + c.bn) * c.bk / threads_of(c); }
/// Registers of a thread, estimated low.
HONE_BOTH constexpr int registers_of(const Config& c) { return c.tm * c.tn + c.tm + c.tn + (c.async ? 0 : carried(c)) + 24; }

/// Elements from one line of b to the next, in the copy where there is one.
HONE_BOTH constexpr long line_of_b(Problem p, const Config& c) { return c.pad ? round_up(p.n, (long)c.vec) : b_is_k_major() ? p.k : p.n; }
HONE_BOTH constexpr long tiles_of(Problem p, const Config& c) { return ceil_div(p.m, (long)c.bm) * ceil_div(p.n, (long)c.bn); }
HONE_BOTH constexpr long steps_of(Problem p, const Config& c) { return ceil_div(p.k, (long)c.bk); }
constexpr long kMostMultiprocessors = 256;  // more than any device has: workspaces are sized without knowing the device
/// Blocks for a device, at least four steps of work each.
constexpr long blocks_of(Problem p, Config c, long multiprocessors) {
  return c.stream_k ? min_of(c.residency * min_of(multiprocessors, kMostMultiprocessors), ceil_div(tiles_of(p, c) * steps_of(p, c), 4L))
                  : tiles_of(p, c);
}
/// Room for two partial tiles of each block: its first and its last.
constexpr long partial_floats(Problem p, Config c) {
  return c.stream_k ? 2 * blocks_of(p, c, kMostMultiprocessors) * c.bm * c.bn : 1;
}

/// Whether the lines of b and out, of a, and of b are whole words of `vec` elements where they must be.
constexpr bool words_fit(Problem p, Config c, int vec) {
  return (c.pad || p.n % vec == 0) && ((c.async && a_is_k_major()) || (a_is_k_major() ? p.k : p.m) % vec == 0) &&
         (c.async || !b_is_k_major() || p.k % vec == 0);
}
/// Whether a copy of b would allow accesses of 16 bytes.
template <class T> constexpr bool copy_widens(Problem p, Config c) {
  const int full = 16 / (int)sizeof(T);
  return !c.pad && !b_is_k_major() && p.n % full != 0 && ((c.async && a_is_k_major()) || (a_is_k_major() ? p.k : p.m) % full == 0);
}
/// Sums of a thread, and its multiply-adds between two barriers.
constexpr int sums_of(Config c) { return c.tm * c.tn; }
constexpr int step_of(Config c) { return sums_of(c) * c.bk / c.slices; }
/// Threads of the whole grid without stream_k.
constexpr long grid_threads(Problem p, Config c) { return tiles_of(p, c) * c.cluster * threads_of(c); }
/// The share of the device in percent that works without stream_k, if each multiprocessor takes as long as the one with the most blocks.
constexpr long balance(Problem p, Config c, long multiprocessors) {
  return 100 * tiles_of(p, c) * c.cluster / (ceil_div(tiles_of(p, c) * c.cluster, multiprocessors) * multiprocessors);
}

/// Whether stream_k would give each block less than a tile, and less than 128 of its k.
constexpr bool split_is_too_fine(Problem p, Config c, long multiprocessors) {
  return tiles_of(p, c) < c.residency * multiprocessors && tiles_of(p, c) * p.k < 128 * c.residency * multiprocessors;
}

/// Whether 8 threads instead of 4 on a line of a k-major tile of `rows` lines makes a difference.
constexpr bool along_matters(Config c, int rows) { return c.bk / k_major_vec(c) > 4 && threads_of(c) / rows < 8; }

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.bm % (32 / c.lanes * c.tm) != 0) return false;                            // whole warps along m
  if (c.bn % (c.lanes * c.tn) != 0) return false;                                 // whole warps along n
  if (threads_of(c) > d.threads_per_block) return false;                          // the device's limit
  if (threads_of(c) * c.residency > d.threads_per_multiprocessor) return false;   // the device's limit
  if (shared_bytes(c) > d.shared_memory_per_block) return false;                  // the device's limit
  if (c.vec * (int)sizeof(T) > 16) return false;                                  // the widest access there is
  if (c.pad && b_is_k_major()) return false;                                      // the first pass copies lines along n
  if (!words_fit(p, c, c.vec)) return false;                                      // rows of out, a and b are whole aligned words
  if (c.async && sizeof(T) != 4) return false;                                    // cp.async converts nothing; shared memory holds floats
  if (c.async && d.compute_capability != 0 && d.compute_capability < 80) return false;  // cp.async: Ampere
  if (c.async && c.stages < 2) return false;                                      // cp.async would overwrite the tile in use
  if (!c.async && c.stages > 2) return false;                                     // registers hold one tile on its way, not more
  if (c.cluster > 1 && d.compute_capability < 90) return false;                   // clusters: Hopper
  if (c.cluster > 1 && c.stream_k) return false;                                  // a block of a cluster has one tile, and a fixed part of k
  // Duplicate: lines of the tiles that are transposed have no more words than threads, or have 8 threads anyway.
  return c.along == 8 || a_is_k_major() && along_matters(c, c.bm) || b_is_k_major() && along_matters(c, c.bn);
}

// Learned on an H200 in November 2026, in f32 at the shapes of bench/vendor and at products of 100 to 100000. Little is expected of
// small problems, which take no time worth saving: so candidates for large problems can be checked on small ragged ones.
template <class T> constexpr bool likely(Problem p, Config c, Device d) {
  if (threads_of(c) < 64) return false;                                           // one warp cannot hide its own latency
  if (threads_of(c) > min_of(512, 256 * c.slices)) return false;                  // barriers of more warps take too long
  if (c.tm > 2 * c.tn || c.tn > 2 * c.tm) return false;                           // nearly square parts reuse most of what they read
  if (sums_of(c) > 128) return false;                                             // the sums alone would fill the registers
  if (c.bk < 4 * c.slices) return false;                                          // too few k to read ahead
  if (step_of(c) > 2048) return false;                                            // a barrier costs nothing beside such a long step
  if (step_of(c) > 1024 && !c.async) return false;                                // an unrolled step would not fit the instruction cache
  if (carried(c) > 64 && !c.async) return false;                                  // elements on their way would not fit the registers
  if (carried(c) > 128) return false;                                             // too many copies between two steps
  if (registers_of(c) > 255) return false;                                        // spills: a thread has no more
  if (registers_of(c) * threads_of(c) * c.residency > d.registers_per_multiprocessor) return false;  // spills: so many blocks have fewer
  if (shared_bytes(c) * c.residency > d.shared_memory_per_multiprocessor) return false;  // so many blocks do not fit
  if (c.pad && p.n % c.vec == 0) return false;                                    // lines are whole words without a copy
  const bool is_ragged = p.m % c.bm != 0 || p.n % c.bn != 0;
  if (c.skip && !is_ragged) return false;                                         // no warp lies outside
  if (c.read_on && !is_ragged) return false;                                      // no word lies outside, and registers are allocated worse
  if (c.raster > 8 && c.raster > ceil_div(p.m, (long)c.bm)) return false;         // a smaller one gives nearly the same order
  if (c.cluster * 4 > max_of(4L, steps_of(p, c))) return false;                   // each block needs four steps
  const bool large = p.m * p.n > (1L << 17) || p.k > 1024;
  const bool many = p.m * p.n >= (1L << 21), broad = p.m >= 512 && p.n >= 512;
  if (large && !c.read_on && is_ragged) return false;                             // a look at each word costs up to a tenth
  if (large && !c.async && sizeof(T) == 4 && d.compute_capability >= 80) return false;  // going through registers costs registers and instructions
  if (large && c.vec * (int)sizeof(T) < 16 && words_fit(p, c, 2 * c.vec)) return false;  // wider accesses are possible
  if (large && c.vec * (int)sizeof(T) < 16 && p.m >= 1024 && copy_widens<T>(p, c)) return false;  // the copy of b pays
  if (large && c.along < 8 && k_major_lines(c) <= 4) return false;                // there are few addresses: longer runs cost nothing
  if (large && threads_of(c) * c.residency < 256) return false;                   // less than two warps for each scheduler
  if (large && step_of(c) * c.slices < 512) return false;                         // too little work for a barrier
  if (large && sums_of(c) < (p.n <= 32 || p.m * p.n < (1L << 18) ? 32 : 64)) return false;  // small parts read too much
  if (large && c.bm > 16 && 4 * round_up(p.m, (long)c.bm) > 5 * round_up(p.m, 16L)) return false;  // much of the tiles lies outside
  if (large && c.bn > 64 && 4 * round_up(p.n, (long)c.bn) > 5 * round_up(p.n, 64L)) return false;  // the same along n
  if (large && c.bm < 32 && p.m > 48) return false;                               // flat tiles read b too often
  if (large && c.bn < 64 && p.n > 32) return false;                               // narrow tiles read a too often
  if (many && c.bm * c.bn < 8192 && p.m > 48 && p.n > 32) return false;           // small tiles read too much, and large ones are enough
  if (broad && a_is_k_major() && !b_is_k_major() && c.bm > c.bn) return false;    // the operand that is transposed costs more: fewer rows of it
  if (broad && b_is_k_major() && !a_is_k_major() && c.bn > c.bm) return false;    // the same for b
  if (large && c.skip && 8 * p.m * p.n > 7 * tiles_of(p, c) * c.bm * c.bn) return false;  // little is outside
  if (large && c.raster > 8 && (p.m + p.n) * p.k * (long)sizeof(T) < d.l2_bytes) return false;  // everything stays in L2
  if (large && c.stream_k && c.bm * c.bn > 4096 && split_is_too_fine(p, c, d.multiprocessors)) return false;  // partial sums cost more than they gain
  if (large && joins(c) && tiles_of(p, c) * threads_of(c) >= 192 * c.slices * d.multiprocessors) return false;  // tiles fill the device
  if (large && joins(c) && !c.stream_k && grid_threads(p, c) > 512 * d.multiprocessors) return false;  // more parts than run at once
  return !large || c.stream_k || balance(p, c, d.multiprocessors) >= 80;          // the last round would leave multiprocessors idle
}

constexpr int kSideThreads = 256;  // threads in a block of the first and the last pass
constexpr int kSumWords = 4;       // words of four sums that each thread of the last pass adds up
constexpr Launch launch_gemm(Problem p, Config c) {
  return {.grid = {ceil_div(p.k * (line_of_b(p, c) / c.vec), (long)kSideThreads)},
          .block = {kSideThreads},
          .enabled = c.pad,
          .overlap = true};
}
constexpr Launch launch_gemm_tiles(Problem p, Config c, Device d) {
  return {.grid = {blocks_of(p, c, d.multiprocessors) * c.cluster},
          .block = {threads_of(c)},
          .cluster = {c.cluster},
          .shared = shared_bytes(c),
          .overlap = true};
}
constexpr Launch launch_gemm_sum(Problem p, Config c, Device d) {
  return {.grid = {max_of(1L, blocks_of(p, c, d.multiprocessors) - 1), ceil_div(c.bm * c.bn, kSideThreads * kSumWords * 4)},
          .block = {kSideThreads},
          .enabled = c.stream_k && tiles_of(p, c) % blocks_of(p, c, d.multiprocessors) != 0,
          .overlap = true};
}

template <class T>
REFERENCE(p.m * p.n)
void gemm_reference(long i, const T* a, const T* b, const T* added, const T* bias, double* out, float alpha, float beta, Problem p) {
  out[i] = product_at(i, a, b, added, bias, alpha, beta, p);
}

// These files use Problem and Config.
#include "tile.h"
#include "sums.h"
#include "schedule.h"

/// The first pass, for ragged n: copies b to lines of whole words and pads them with zeros. (It does not use `a`, but the order of the
/// caller's arguments is that of the first pass that names them.)
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(kSideThreads)
void gemm(IN(p.m * p.k) const T* __restrict__ a, IN(p.k * p.n) const T* __restrict__ b,
          WORKSPACE(c.pad ? p.k * line_of_b(p, c) : 1) T* __restrict__ padded, Problem p) {
  grid_dependency_wait();
  launch_dependents();
  const long word = blockIdx.x * (long)kSideThreads + threadIdx.x, words = line_of_b(p, c) / c.vec;
  const long line = word / words, column = word % words * c.vec;
  if (line >= p.k) return;
  Vector<T, c.vec> copy;
#pragma unroll
  for (int e = 0; e < c.vec; ++e) copy[e] = column + e < p.n ? b[line * p.n + column + e] : T(0.0f);
  store(padded + word * c.vec, copy);
}

/// Computes a piece of a tile. Writes to out if it is the whole tile, else to `partial` for the last pass.
template <class T, Config c>
HONE_DEVICE void compute(const T* a, const T* b, T* out, float* partial, const Finish<T>& finish, Problem p, Piece piece, bool is_whole,
                         float* shared) {
  long tile_row, tile_column;
  place<c>(p, piece.tile, tile_row, tile_column);
  Loader<T, c> loader;
  const long k = piece.begin * (long)c.bk;
  loader.a.seek(a, tile_row, k, p.m, a_is_k_major() ? p.k : p.m);
  loader.b.seek(b, tile_column, k, p.n, line_of_b(p, c));
  loader.left = (int)(min_of(p.k, piece.end * (long)c.bk) - k) - loader.lines_beyond();
  loader.rows_whole = loader.a.rows_inside == c.bm && loader.b.rows_inside == c.bn;
  grid_dependency_wait();
  launch_dependents();  // not earlier: blocks of several calls would fill the first multiprocessors that have room
  Sums<c> sums;
  sums.clear();
  const bool active = sums.warp_inside(loader.a.rows_inside, loader.b.rows_inside);
  if constexpr (c.async) {
    accumulate_async(loader, sums, shared, piece.end - piece.begin, active);
  } else {
    accumulate(loader, sums, shared, piece.end - piece.begin, active);
  }
  const auto write = [&](int row, int column, const auto& word) {
    if (c.stream_k && !is_whole) {
      store_sums<!joins(c)>(partial + row * c.bn + column, word);
    } else if (tile_row + row < p.m) {
      write_word<!joins(c), c>(finish, out, word, tile_row + row, tile_column + column, p.n);
    }
  };
  if constexpr (joins(c)) {
    sums.join(shared, c.cluster > 1 ? (int)hopper::cluster_rank() : 0, write);
  } else {
    sums.visit(write);
  }
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(threads_of(c), c.residency)
void gemm_tiles(IN(p.m * p.k) const T* __restrict__ a, IN(p.k * p.n) const T* __restrict__ b,
                IN(p.terms % 2 == 0 ? p.m * p.n : 1) const T* __restrict__ added, IN(p.terms >= 3 ? p.n : 1) const T* __restrict__ bias,
                OUT(p.m * p.n) T* __restrict__ out, WORKSPACE(c.pad ? p.k * line_of_b(p, c) : 1) const T* __restrict__ padded,
                WORKSPACE(partial_floats(p, c)) float* __restrict__ partial, SCALAR(1.0) float alpha, SCALAR(1.0) float beta, Problem p) {
  SHARED_DYNAMIC(float, shared);
  const Finish<T> finish = {added, bias, alpha, beta};
  const long block = blockIdx.x, rank = c.cluster > 1 ? (int)hopper::cluster_rank() : 0;
  if constexpr (!c.stream_k) {
    compute<T, c>(a, c.pad ? padded : b, out, partial, finish, p,
                  {block / c.cluster, (int)(steps_of(p, c) * rank / c.cluster), (int)(steps_of(p, c) * (rank + 1) / c.cluster)}, true,
                  shared);
  } else {
    const Schedule<c> schedule(p, gridDim.x);
    const int steps = (int)schedule.steps;
    long at = schedule.first_of(block);
    const long end = schedule.first_of(block + 1);
    for (long round = 0; round < schedule.rounds || at < end; ++round) {
      Piece piece = {round * schedule.blocks + block, 0, steps};
      if (round >= schedule.rounds) {
        const int begin = (int)(at % steps);
        piece = {schedule.first_tile() + at / steps, begin, (int)min_of((long)steps, begin + end - at)};
        at += piece.end - piece.begin;
      }
      float* slot = partial + (2 * block + (piece.begin == 0)) * (c.bm * c.bn);
      compute<T, c>(a, c.pad ? padded : b, out, slot, finish, p, piece, piece.begin == 0 && piece.end == steps, shared);
    }
  }
}

/// The last pass adds up the pieces of the tiles that several blocks share, in the order of k: the result is deterministic. Block x of the
/// grid looks at the border between the shares of two blocks and takes a part of the tile around it, one for each border in that tile.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(kSideThreads)
void gemm_sum(IN(p.terms % 2 == 0 ? p.m * p.n : 1) const T* __restrict__ added, IN(p.terms >= 3 ? p.n : 1) const T* __restrict__ bias,
              OUT(p.m * p.n) T* __restrict__ out, WORKSPACE(partial_floats(p, c)) const float* partial,
              SCALAR(1.0) float alpha, SCALAR(1.0) float beta, Problem p) {
  grid_dependency_wait();
  launch_dependents();
  constexpr int kTile = c.bm * c.bn, kParts = 4;  // parts whose words are on their way at once
  const Schedule<c> schedule(p, gridDim.x + 1);
  const long border = schedule.first_of(blockIdx.x + 1), begin = border / schedule.steps * schedule.steps;
  if (blockIdx.x + 1 >= schedule.sharers || border == begin) return;
  const long first = schedule.block_of(begin), borders = schedule.block_of(begin + schedule.steps - 1) - first;
  const int stride = (int)(borders * gridDim.y) * kSideThreads * 4;  // from one word of a thread to the next
  const int start = (int)((blockIdx.x - first) * gridDim.y + blockIdx.y) * kSideThreads * 4 + (int)threadIdx.x * 4;
  Vector<float, 4> sums[kSumWords] = {};
  for (int done = 0; done <= borders; done += kParts) {
    Vector<float, 4> words[kParts][kSumWords] = {};
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      const float* const part = partial + (2 * (first + done + i) + (done + i == 0)) * kTile;
#pragma unroll
      for (int w = 0; w < kSumWords; ++w) {
        if (done + i <= borders && start + w * stride < kTile) words[i][w] = load<4>(part + start + w * stride);
      }
    }
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
#pragma unroll
      for (int w = 0; w < kSumWords; ++w) {
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[w][e] += words[i][w][e];
      }
    }
  }
  long tile_row, tile_column;
  place<c>(p, schedule.first_tile() + begin / schedule.steps, tile_row, tile_column);
  const Finish<T> finish = {added, bias, alpha, beta};
#pragma unroll
  for (int w = 0; w < kSumWords; ++w) {
    const int i = start + w * stride;
    const long row = tile_row + i / c.bn;
    if (i < kTile && row < p.m) write_word<false, c>(finish, out, sums[w], row, tile_column + i % c.bn, p.n);
  }
}
