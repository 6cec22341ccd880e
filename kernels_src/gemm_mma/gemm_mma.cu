// Matrix product on tensor cores, a warp at a time: out = activation(alpha * a b + beta * added + bias), either one transposed or not, any
// m, n, k; sums in float.
#include <hone/kernel.h>
#include <hone/kernel_hopper.h>

struct Problem {
  long m = 1024, n = 1024, k = 1024;
  long layout = 1;      // how a and b lie in memory: 1 a[m, k] b[k, n], 2 a[m, k] b[n, k], 3 a[k, m] b[k, n], 4 a[k, m] b[n, k]
  long terms = 1;       // what is added to alpha * a b: 1 nothing, 2 beta * added[m, n], 3 bias[n], 4 both
  long activation = 1;  // 1 none, 2 relu, 3 gelu, 4 silu
};

// A block computes bm x bn of out, a warp wm x wn of that, for bk of k at a time. Tiles of a and b wait in shared memory in words of
// 16 bytes, which change places so that eight lanes that read a column of words meet in no bank.
struct Config {
  TUNE(16, 32, 64, 128, 256) int bm = 64;     // rows of the block's tile: larger tiles read a and b less often, smaller ones give more blocks
  TUNE(32, 64, 128, 256) int bn = 64;         // columns of the block's tile
  TUNE(32, 64) int bk = 32;                   // depth of one step: deeper steps synchronize less and hold more shared memory
  TUNE(16, 32, 64, 128) int wm = 32;          // rows a warp computes: more reuse of what it reads, more registers
  TUNE(16, 32, 64, 128) int wn = 32;          // columns a warp computes
  TUNE(2, 3, 4, 5, 6) int stages = 2;         // steps in shared memory: one is used while the others arrive
  TUNE(1, 2, 4, 8) int vec = 1;               // elements in one access: lines are multiples of it. 1 takes lines that begin anywhere
  TUNE(1, 2, 4, 8, 16) int split = 1;         // blocks that share the sum over k: few tiles must fill the device. Costs a second pass
  TUNE(1, 2, 4, 8) int cluster = 1;           // the same without one: they add it up through each other's shared memory (since Hopper)
  TUNE(0, 1, 2) int once = 0;                 // a (1) or b (2) is read once and need not stay in L2
  TUNE(1, 4, 8) int raster = 4;               // row tiles that run side by side, so that the columns of b they share stay in L2
  TUNE(1, 2, 3, 4) int layout = 1;            // the problem's: code is made for one
  TUNE(1, 2, 3, 4) int terms = 1;             // the problem's
  TUNE(1, 2, 3, 4) int activation = 1;        // the problem's
};
#include "../product.h"

HONE_BOTH constexpr int threads_of(Config c) { return c.bm / c.wm * (c.bn / c.wn) * 32; }
HONE_BOTH constexpr int stage_bytes(Config c) { return (c.bm + c.bn) * c.bk * 2; }
/// Floats from one row of sums in shared memory to the next: 8 more than it needs, against bank conflicts.
HONE_BOTH constexpr int pitch_of(Config c) { return c.bn + 8; }
HONE_BOTH constexpr int shared_bytes(Config c) { return max_of(c.stages * stage_bytes(c), c.cluster > 1 ? c.bm * pitch_of(c) * 4 : 0); }
/// Blocks that share the sum over k.
HONE_BOTH constexpr int shares_of(Config c) { return c.split * c.cluster; }
/// Words of 16 bytes that a thread carries in one step, of a and of b.
HONE_BOTH constexpr int carried_a(Config c) { return ceil_div(c.bm * c.bk / 8, threads_of(c)); }
HONE_BOTH constexpr int carried_b(Config c) { return ceil_div(c.bk * c.bn / 8, threads_of(c)); }
HONE_BOTH constexpr long tiles_of(Problem p, Config c) { return ceil_div(p.m, (long)c.bm) * ceil_div(p.n, (long)c.bn); }
/// A low estimate: sums, fragments of a and b, words on their way.
HONE_BOTH constexpr int registers_of(Config c) {
  return c.wm * c.wn / 32 + c.wm / 4 + c.wn / 4 + (c.vec == 1 ? 8 * (carried_a(c) + carried_b(c)) : 0) + 30;
}

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (d.compute_capability < 80) return false;                             // mma of bf16 and cp.async
  if (c.layout != p.layout) return false;                                  // made for another layout
  if (c.terms != p.terms) return false;                                    // for other terms
  if (c.activation != p.activation) return false;                          // for another activation
  if (c.bm % c.wm != 0) return false;                                      // whole warps along m
  if (c.bn % c.wn != 0) return false;                                      // and along n
  if (threads_of(c) < 64) return false;                                    // one warp cannot hide its own latency
  if (threads_of(c) < 128 && c.bm * c.bn >= 16 * 64) return false;         // nor two where there is work for four
  if (threads_of(c) > 512) return false;                                   // more synchronize too much
  if (c.vec < 8 && c.once != 0) return false;                              // a matter of wide reads
  if (c.once == 1 && c.bn < p.n) return false;                             // other columns of tiles read a again
  if (c.once == 2 && c.bm < p.m) return false;                             // other rows of tiles read b again
  if (c.vec == 1 && c.stages != 2) return false;                           // by way of registers one step is on its way, not more
  if ((a_is_deep(c) ? p.k : p.m) % c.vec != 0) return false;               // lines of a are whole aligned words
  if ((b_is_deep(c) ? p.k : p.n) % c.vec != 0) return false;               // and those of b
  if (c.vec < 8 && ((a_is_deep(c) ? p.k : p.m) | (b_is_deep(c) ? p.k : p.n)) % (2 * c.vec) == 0) return false;  // wider ones are possible
  if (registers_of(c) > 255) return false;                                 // a thread has no more
  if (registers_of(c) * threads_of(c) > d.registers_per_multiprocessor) return false;  // nor has a block
  if (shared_bytes(c) > d.shared_memory_per_block) return false;           // the device's limit
  if (c.bm > 16 && c.bm >= 2 * p.m) return false;                          // more than half of every tile is outside
  if (c.bn > 32 && c.bn >= 2 * p.n) return false;                          // the same along n
  if (c.bm * c.bn > 16 * 64 && 2 * tiles_of(p, c) * shares_of(c) <= d.multiprocessors) return false;  // half of the device would be idle
  if (c.raster > 1 && c.raster > ceil_div(p.m, (long)c.bm)) return false;  // the same order as with a smaller one
  if (c.stages > 2 && (c.stages - 2) * c.bk * shares_of(c) >= p.k) return false;  // stages that are never filled
  if (c.split > 1 && c.split * 4 * c.bk > p.k) return false;               // a share of k is worth at least four steps
  if (c.cluster > 1 && d.compute_capability < 90) return false;            // clusters came with Hopper
  if (c.cluster > 1 && c.split > 1) return false;                          // one way to share is enough
  if (c.split > 1 && c.split <= 8 && d.compute_capability >= 90) return false;  // a cluster does without the second pass
  if (c.cluster > 1 && c.cluster * c.bk >= p.k + c.bk) return false;       // a block without a step
  return shares_of(c) == 1 || tiles_of(p, c) * shares_of(c) <= 8 * d.multiprocessors;  // more blocks gain nothing, and partial sums cost
}

constexpr Launch launch_gemm_mma(Problem p, Config c) {
  return {.grid = {tiles_of(p, c) * c.cluster, c.split}, .block = {threads_of(c)}, .cluster = {c.cluster}, .shared = shared_bytes(c)};
}
constexpr Launch launch_gemm_mma_sum(Problem p, Config c) {
  return {.grid = {ceil_div(p.m * p.n, 256L)}, .block = {256}, .enabled = c.split > 1, .overlap = true};
}

template <class T> constexpr Cost cost(Problem p) {
  return {.flops = 2.0 * p.m * p.n * p.k,
          .bytes = (1.0 * p.m * p.k + 1.0 * p.k * p.n + (p.terms % 2 == 0 ? 2.0 : 1.0) * p.m * p.n) * sizeof(T),
          .sum_length = 1.0 * p.k};
}

template <class T>
REFERENCE(p.m * p.n)
void gemm_mma_reference(long i, const T* a, const T* b, const T* added, const T* bias, double* out, float alpha, float beta, Problem p) {
  out[i] = product_at(i, a, b, added, bias, alpha, beta, p);
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// ---- instructions -------------------------------------------------------------------------------------------------------------------------
HONE_DEVICE unsigned shared_address(const void* pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

/// Starts copying `count` elements to shared memory, zeros unless `inside`.
template <int count, bool once> HONE_DEVICE void copy_async(unsigned to, const void* from, bool inside) {
  const int bytes = inside ? count * 2 : 0;
  if constexpr (count < 8) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(count * 2), "r"(bytes) : "memory");
  } else {
    unsigned long policy;
    if constexpr (once) {
      asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    } else {
      asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
    }
    asm volatile("cp.async.cg.shared.global.L2::cache_hint.L2::128B [%0], [%1], 16, %2, %3;" ::"r"(to), "l"(from), "r"(bytes), "l"(policy)
                 : "memory");
  }
}
HONE_DEVICE void end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int pending> HONE_DEVICE void wait_groups() { asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory"); }

HONE_DEVICE void load_matrices(unsigned (&to)[4], unsigned row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}
HONE_DEVICE void load_transposed(unsigned (&to)[4], unsigned row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}

template <class T> inline constexpr bool kIsBf16 = false;
template <> inline constexpr bool kIsBf16<bf16> = true;
template <class T> HONE_DEVICE void multiply_add(float (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  if constexpr (kIsBf16<T>) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

// ---- from memory to shared memory ---------------------------------------------------------------------------------------------------------
/// The block's place: its tile, and its share of k.
struct Place {
  long row, column, k_begin, k_end;
};

template <Config c> HONE_DEVICE Place place_of(Problem p) {
  const int tiles_m = (int)ceil_div(p.m, (long)c.bm), tiles_n = (int)ceil_div(p.n, (long)c.bn);
  const int block = (int)blockIdx.x / c.cluster, per_group = c.raster * tiles_n, group = block / per_group;
  const int height = min_of(c.raster, tiles_m - group * c.raster), within = block % per_group;
  const long share = ceil_div(ceil_div(p.k, (long)c.bk), (long)shares_of(c)) * c.bk;
  const long begin = min_of(p.k, share * (c.cluster > 1 ? (int)blockIdx.x % c.cluster : (int)blockIdx.y));
  return {(group * c.raster + within % height) * (long)c.bm, within / height * (long)c.bn, begin, min_of(p.k, begin + share)};
}

/// Where word `word` of a line of `words` words lies in a tile: in bytes, with places exchanged by line.
template <int words> HONE_DEVICE unsigned place_in_tile(int line, int word) {
  constexpr int kLines = words >= 8 ? 1 : 8 / words;  // that share 128 bytes, all banks
  return (line * words + (word ^ line / kLines % min_of(words, 8))) * 16;
}

/// Eight elements on their way: two aligned words that hold them, or the elements themselves at the end of the array.
struct Unaligned {
  uint4 low, high;
  int shift, count;  // first element in `low`; how many of the 8 are wanted
};

/// A matrix whose lines lie packed (rows of `columns` elements, as memory has them), in tiles of kLines lines and kWords words.
template <class T, Config c, int kLines, int kWords, bool kOnce> struct Tile {
  static constexpr int kThreads = threads_of(c), kCarried = ceil_div(kLines * kWords, kThreads);
  const T* from;
  long rows, columns;

  /// Starts copying the tile at (row, column); what lies beyond the matrix, or beyond row `end_row` or column `end_column`, is zero.
  HONE_DEVICE void start(unsigned to, long row, long column, long end_row, long end_column) const {
#pragma unroll
    for (int i = 0; i < kCarried; ++i) {
      const int slot = (int)threadIdx.x + i * kThreads, line = slot / kWords, word = slot % kWords;
      if (kLines * kWords % kThreads != 0 && slot >= kLines * kWords) continue;
#pragma unroll
      for (int e = 0; e < 8; e += c.vec) {
        const long at_row = row + line, at_column = column + word * 8 + e;
        const bool inside = at_row < end_row && at_column < end_column;
        copy_async<c.vec, kOnce>(to + place_in_tile<kWords>(line, word) + e * 2, from + (inside ? at_row * columns + at_column : 0), inside);
      }
    }
  }

  HONE_DEVICE void fetch(Unaligned (&words)[kCarried], long row, long column, long end_row, long end_column) const {
#pragma unroll
    for (int i = 0; i < kCarried; ++i) {
      const int slot = (int)threadIdx.x + i * kThreads, line = slot / kWords, word = slot % kWords;
      const long at_row = row + line, at_column = column + word * 8, first = at_row * columns + at_column, begin = first / 8 * 8;
      Unaligned& to = words[i];
      const bool exists = kLines * kWords % kThreads == 0 || slot < kLines * kWords;
      to.count = exists && at_row < end_row ? (int)min_of(8L, max_of(0L, end_column - at_column)) : 0;
      to.shift = (int)(first - begin);
      if (to.count == 0) continue;
      if (begin + 16 <= rows * columns) {
        to.low = *reinterpret_cast<const uint4*>(from + begin);
        to.high = *reinterpret_cast<const uint4*>(from + begin + 8);
      } else {
        unsigned pairs[4] = {};
#pragma unroll
        for (int e = 0; e < 8; ++e) pairs[e / 2] |= e < to.count ? (unsigned)from[first + e].bits << e % 2 * 16 : 0;
        to.low = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
        to.shift = 0;
      }
    }
  }

  HONE_DEVICE void put(unsigned to, const Unaligned (&words)[kCarried]) const {
#pragma unroll
    for (int i = 0; i < kCarried; ++i) {
      const int slot = (int)threadIdx.x + i * kThreads;
      if (kLines * kWords % kThreads != 0 && slot >= kLines * kWords) continue;
      const Unaligned& w = words[i];
      unsigned all[8] = {w.low.x, w.low.y, w.low.z, w.low.w, w.high.x, w.high.y, w.high.z, w.high.w}, pair[4];
#pragma unroll
      for (int e = 0; e < 6; ++e) all[e] = w.shift & 4 ? all[e + 2] : all[e];
#pragma unroll
      for (int e = 0; e < 5; ++e) all[e] = w.shift & 2 ? all[e + 1] : all[e];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        pair[e] = __funnelshift_r(all[e], all[e + 1], (w.shift & 1) * 16);
        pair[e] = 2 * e >= w.count ? 0 : 2 * e + 1 >= w.count ? pair[e] & 0xffff : pair[e];
      }
      asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to + place_in_tile<kWords>(slot / kWords, slot % kWords)), "r"(pair[0]),
                   "r"(pair[1]), "r"(pair[2]), "r"(pair[3])
                   : "memory");
    }
  }
};

// ---- products -----------------------------------------------------------------------------------------------------------------------------
/// Whether rows of out are whole pairs: those of b tell, if they are as long.
template <Config c> HONE_DEVICE bool whole_pairs(Problem p) { return c.vec > 1 && (!b_is_deep(c) || p.n % 2 == 0); }
template <Config c> HONE_DEVICE bool whole_words(Problem p) { return c.vec >= 4 && (!b_is_deep(c) || p.n % 4 == 0); }

/// One warp's sums: lane l holds rows l / 4 and 8 below, columns l % 4 * 2 and the next, of each 16 x 8 part.
template <class T, Config c> struct Sums {
  static constexpr int kDown = c.wm / 16, kAcross = c.wn / 8;
  int first_row, first_column;  // of the warp, in the block's tile
  float values[kDown][kAcross][4] = {};

  HONE_DEVICE Sums() {
    constexpr int kWarpsAcross = c.bn / c.wn;
    const int warp = (int)threadIdx.x / 32;
    first_row = warp / kWarpsAcross * c.wm;
    first_column = warp % kWarpsAcross * c.wn;
  }

  /// 16 x 16 of a: k from 8 on are the last two matrices. In a tile whose lines are k, eight of them are a matrix that is turned.
  static HONE_DEVICE void read_a(unsigned (&to)[4], unsigned tile, int row, int k) {
    const int lane = (int)threadIdx.x % 32;
    if constexpr (a_is_deep(c)) {
      load_matrices(to, tile + place_in_tile<c.bk / 8>(row + lane % 16, k / 8 + lane / 16));
    } else {
      load_transposed(to, tile + place_in_tile<c.bm / 8>(k + lane / 16 * 8 + lane % 8, row / 8 + lane / 8 % 2));
    }
  }
  /// 16 x 16 of b: columns from 8 on are the last two matrices.
  static HONE_DEVICE void read_b(unsigned (&to)[4], unsigned tile, int column, int k) {
    const int lane = (int)threadIdx.x % 32;
    if constexpr (b_is_deep(c)) {
      load_matrices(to, tile + place_in_tile<c.bk / 8>(column + lane / 16 * 8 + lane % 8, k / 8 + lane / 8 % 2));
    } else {
      load_transposed(to, tile + place_in_tile<c.bn / 8>(k + lane % 16, column / 8 + lane / 16));
    }
  }

  HONE_DEVICE void add(unsigned stage) {
#pragma unroll
    for (int k = 0; k < c.bk; k += 16) {
      unsigned a[kDown][4], b[kAcross / 2][4];
#pragma unroll
      for (int i = 0; i < kDown; ++i) read_a(a[i], stage, first_row + i * 16, k);
#pragma unroll
      for (int j = 0; j < kAcross / 2; ++j) read_b(b[j], stage + c.bm * c.bk * 2, first_column + j * 16, k);
#pragma unroll
      for (int i = 0; i < kDown; ++i) {
#pragma unroll
        for (int step = 0; step < kAcross; ++step) {
          const int j = i % 2 == 0 ? step : kAcross - 1 - step;  // back and forth: neighbouring products share an operand
          multiply_add<T>(values[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
  }

  /// Calls visit(row, column, pair) for neighbouring sums, of which those beyond the matrix are not wanted.
  template <class Visit> HONE_DEVICE void visit(const Place& at, Problem p, Visit visit) const {
    const int lane = (int)threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < kDown * 2; ++i) {
      const long row = at.row + first_row + i * 8 + lane / 4;
      if (row >= p.m) continue;
#pragma unroll
      for (int j = 0; j < kAcross; ++j) {
        const long column = at.column + first_column + j * 8 + lane % 4 * 2;
        if (column < p.n) visit(row, column, Vector<float, 2>{values[i / 2][j][i % 2 * 2], values[i / 2][j][i % 2 * 2 + 1]});
      }
    }
  }

  /// Adds up what all blocks of the cluster have, by way of shared memory that is free again: each block writes some of the rows.
  HONE_DEVICE void join(T* out, const Finish<T, c>& finish, const Place& at, Problem p, unsigned shared) const {
    const int lane = (int)threadIdx.x % 32, rank = (int)hopper::cluster_rank();
    __syncthreads();  // all warps have read the last stage
#pragma unroll
    for (int i = 0; i < kDown * 2; ++i) {
#pragma unroll
      for (int j = 0; j < kAcross; ++j) {
        const int row = first_row + i * 8 + lane / 4, column = first_column + j * 8 + lane % 4 * 2;
        hopper::store_pair(shared + (row * pitch_of(c) + column) * 4, values[i / 2][j][i % 2 * 2], values[i / 2][j][i % 2 * 2 + 1]);
      }
    }
    hopper::cluster_sync();
    constexpr int kPart = c.bm * c.bn / c.cluster;
    for (int i = (int)threadIdx.x * 4; i < kPart; i += threads_of(c) * 4) {
      const int tile_row = (rank * kPart + i) / c.bn, tile_column = i % c.bn;
      const long row = at.row + tile_row, column = at.column + tile_column;
      if (row >= p.m || column >= p.n) continue;
      Vector<float, 4> sums = {};
#pragma unroll
      for (int block = 0; block < c.cluster; ++block) {
        float part[4];
        hopper::load_remote(part, hopper::address_in(shared + (tile_row * pitch_of(c) + tile_column) * 4, block));
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[e] += part[e];
      }
      if (whole_words<c>(p)) {
        finish.write(out, sums, row, column, p.n);
      } else {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          if (column + e < p.n) finish.template write<1>(out, {sums[e]}, row, column + e, p.n);
        }
      }
    }
    hopper::cluster_sync();  // nobody ends while others read its sums
  }

  HONE_DEVICE void write(float* to, const Place& at, Problem p) const {
    visit(at, p, [&](long row, long column, const Vector<float, 2>& pair) {
      if (whole_pairs<c>(p)) {
        store(to + row * p.n + column, pair);
      } else {
        to[row * p.n + column] = pair[0];
        if (column + 1 < p.n) to[row * p.n + column + 1] = pair[1];
      }
    });
  }
  HONE_DEVICE void write(T* out, const Finish<T, c>& finish, const Place& at, Problem p) const {
    visit(at, p, [&](long row, long column, const Vector<float, 2>& pair) {
      if (whole_pairs<c>(p)) {
        finish.write(out, pair, row, column, p.n);
      } else {
        finish.template write<1>(out, {pair[0]}, row, column, p.n);
        if (column + 1 < p.n) finish.template write<1>(out, {pair[1]}, row, column + 1, p.n);
      }
    });
  }
};

/// Adds up a share of k.
template <class T, Config c> struct Block {
  static constexpr int kA = c.bm * c.bk * 2;  // bytes of a's tile
  Tile<T, c, a_is_deep(c) ? c.bm : c.bk, (a_is_deep(c) ? c.bk : c.bm) / 8, c.once == 1> a;
  Tile<T, c, b_is_deep(c) ? c.bn : c.bk, (b_is_deep(c) ? c.bk : c.bn) / 8, c.once == 2> b;
  Problem p;
  Place at;
  unsigned shared;

  HONE_DEVICE unsigned stage(int index) const { return shared + index * stage_bytes(c); }

  /// By way of registers: the next step comes while the present one is used.
  HONE_DEVICE void accumulate(Sums<T, c>& sums) const {
    Unaligned words_a[carried_a(c)], words_b[carried_b(c)];
    int present = 0;
    for (long k = at.k_begin; k < at.k_end + c.bk; k += c.bk) {
      if (k < at.k_end) {
        if constexpr (a_is_deep(c)) {
          a.fetch(words_a, at.row, k, p.m, at.k_end);
        } else {
          a.fetch(words_a, k, at.row, at.k_end, p.m);
        }
        if constexpr (b_is_deep(c)) {
          b.fetch(words_b, at.column, k, p.n, at.k_end);
        } else {
          b.fetch(words_b, k, at.column, at.k_end, p.n);
        }
      }
      if (k > at.k_begin) sums.add(stage(present));
      present ^= 1;
      if (k < at.k_end) {
        a.put(stage(present), words_a);
        b.put(stage(present) + kA, words_b);
      }
      __syncthreads();
    }
  }

  HONE_DEVICE void start(int index, long k) const {
    if (k < at.k_end) {
      if constexpr (a_is_deep(c)) {
        a.start(stage(index), at.row, k, p.m, at.k_end);
      } else {
        a.start(stage(index), k, at.row, at.k_end, p.m);
      }
      if constexpr (b_is_deep(c)) {
        b.start(stage(index) + kA, at.column, k, p.n, at.k_end);
      } else {
        b.start(stage(index) + kA, k, at.column, at.k_end, p.n);
      }
    }
    end_group();
  }

  /// With stages - 1 steps on their way at any time, and no registers for them.
  HONE_DEVICE void accumulate_async(Sums<T, c>& sums) const {
#pragma unroll
    for (int s = 0; s < c.stages - 1; ++s) start(s, at.k_begin + s * c.bk);
    int present = 0, filled = c.stages - 1;
    for (long k = at.k_begin; k < at.k_end; k += c.bk) {
      wait_groups<c.stages - 2>();
      __syncthreads();  // everyone's part of this stage is here, and everyone has read the one before
      start(filled, k + (c.stages - 1) * c.bk);
      sums.add(stage(present));
      present = present + 1 == c.stages ? 0 : present + 1;
      filled = filled + 1 == c.stages ? 0 : filled + 1;
    }
  }
};
#endif

template <class T, Config c>
KERNEL DTYPES(bf16, f16) LAUNCH_BOUNDS(threads_of(c))
void gemm_mma(IN(p.m * p.k) const T* __restrict__ a, IN(p.k * p.n) const T* __restrict__ b,
              IN(p.terms % 2 == 0 ? p.m * p.n : 1) const T* __restrict__ added, IN(p.terms >= 3 ? p.n : 1) const T* __restrict__ bias,
              OUT(p.m * p.n) T* __restrict__ out, WORKSPACE(c.split > 1 ? c.split * p.m * p.n : 1) float* __restrict__ partial,
              SCALAR(1.0) float alpha, SCALAR(1.0) float beta, Problem p) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  SHARED_DYNAMIC(unsigned char, shared);
  const long a_lines = a_is_deep(c) ? p.m : p.k, a_line = a_is_deep(c) ? p.k : p.m;
  const long b_lines = b_is_deep(c) ? p.n : p.k, b_line = b_is_deep(c) ? p.k : p.n;
  const Block<T, c> block{{a, a_lines, a_line}, {b, b_lines, b_line}, p, place_of<c>(p), shared_address(shared)};
  Sums<T, c> sums;
  if constexpr (c.vec == 1) {
    block.accumulate(sums);
  } else {
    block.accumulate_async(sums);
  }
  if constexpr (c.split > 1) {
    sums.write(partial + blockIdx.y * (p.m * p.n), block.at, p);
  } else if constexpr (c.cluster > 1) {
    sums.join(out, {added, bias, alpha, beta}, block.at, p, block.shared);
  } else {
    sums.write(out, {added, bias, alpha, beta}, block.at, p);
  }
#endif
}

/// Adds the shares of k, in their order: the result does not depend on which block ended first.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(256)
void gemm_mma_sum(IN(p.terms % 2 == 0 ? p.m * p.n : 1) const T* __restrict__ added, IN(p.terms >= 3 ? p.n : 1) const T* __restrict__ bias,
                  OUT(p.m * p.n) T* __restrict__ out, WORKSPACE(c.split > 1 ? c.split * p.m * p.n : 1) const float* partial,
                  SCALAR(1.0) float alpha, SCALAR(1.0) float beta, Problem p) {
  await_pass_before();
  const long i = blockIdx.x * 256L + threadIdx.x;
  if (i >= p.m * p.n) return;
  float sum = 0;
#pragma unroll
  for (int s = 0; s < c.split; ++s) sum += partial[s * (p.m * p.n) + i];
  const Finish<T, c> finish = {added, bias, alpha, beta};
  const long row = Finish<T, c>::kBiased ? i / p.n : 0;  // a division that most need not wait for
  finish.template write<1>(out, {sum}, row, i - row * p.n, p.n);
}
