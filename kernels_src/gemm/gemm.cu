// Matrix product on the ordinary cores: out[m, n] = sum over k of a[m, k] * b[k, n]; row-major, any m, n, k, accumulated in float.
#include <hone/kernel.h>

struct Problem {
  long m = 1024, n = 1024, k = 1024;
};

// A block computes bm x bn of out, a warp a part of that, a thread tm x tn, for bk columns of a and rows of b at a time. Those wait in
// shared memory as floats, a's tile transposed, so that a thread finds its rows side by side.
struct Config {
  TUNE(16, 32, 64, 128, 256) int bm = 64;  // rows of the block's tile: larger tiles read a and b less often, smaller ones give more blocks
  TUNE(32, 64, 128, 256) int bn = 64;      // columns of the block's tile
  TUNE(8, 16, 32) int bk = 8;              // depth of one step: deeper steps synchronize less and hold more shared memory
  TUNE(2, 4, 8, 16) int tm = 8;            // rows a thread computes: more reuse of each shared read, more registers
  TUNE(2, 4, 8, 16) int tn = 4;            // columns a thread computes
  TUNE(4, 8, 16) int lanes = 8;            // of a warp along n, the others along m: near square reads shared memory least
  TUNE(1, 2, 4, 8) int vec = 1;            // elements in one access to a, b and out; rows must be a multiple of it
  TUNE(false, true) bool async = false;    // cp.async carries tiles straight into shared memory instead of by way of registers
  TUNE(1, 2, 3, 4) int stages = 2;         // tiles of a and b in shared memory: one is used while the others arrive
  TUNE(1, 2, 4, 8, 16, 32) int split = 1;  // blocks that share the sum over k: few tiles must fill the device. Costs a second pass
  TUNE(1, 8, 16) int raster = 8;           // row tiles that run side by side, so that the columns of b they share stay in L2
  TUNE(1, 2, 3, 4) int residency = 1;      // blocks that must fit one multiprocessor: caps the registers
  TUNE(false, true) bool exact = false;    // leaves out the edge code: the tiles then have to fit the matrices exactly
};

HONE_BOTH constexpr int threads_of(Config c) { return c.bm / c.tm * (c.bn / c.tn); }
/// From one k of a's tile to the next: 4 floats more than it needs, against bank conflicts when the tile is stored transposed.
HONE_BOTH constexpr int pitch_of(Config c) { return c.bm + 4; }
HONE_BOTH constexpr int stage_floats(Config c) { return c.bk * (pitch_of(c) + c.bn); }
HONE_BOTH constexpr int shared_bytes(Config c) { return 4 * c.stages * stage_floats(c); }
HONE_BOTH constexpr long tiles_of(Problem p, Config c) { return ceil_div(p.m, (long)c.bm) * ceil_div(p.n, (long)c.bn); }
/// Elements of both tiles that a thread carries into shared memory in one step.
HONE_BOTH constexpr int carried(Config c) { return (c.bm + c.bn) * c.bk / threads_of(c); }
/// A low estimate of the registers of a thread.
HONE_BOTH constexpr int registers_of(Config c) { return c.tm * c.tn + c.tm + c.tn + (c.async ? 0 : carried(c)) + 24; }

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.bm % (32 / c.lanes * c.tm) != 0) return false;                            // whole warps along m
  if (c.bn % (c.lanes * c.tn) != 0) return false;                                 // and along n
  if (threads_of(c) < 64) return false;                                           // one warp cannot hide its own latency
  if (threads_of(c) > d.threads_per_block) return false;                          // the device's limit
  if (c.tm * c.tn > 128) return false;                                            // the sums alone would fill the registers
  if (carried(c) > 64) return false;                                              // and so would elements on their way
  if (c.vec * (int)sizeof(T) > 16) return false;                                  // the widest access there is
  if (p.k % c.vec != 0) return false;                                             // rows of a are whole aligned words
  if (p.n % c.vec != 0) return false;                                             // and those of b and out
  if (c.async && sizeof(T) != 4) return false;                                    // cp.async converts nothing; shared memory holds floats
  if (c.async && c.stages < 2) return false;                                      // it would overwrite what is in use
  if (!c.async && c.stages > 2) return false;                                     // by way of registers one tile is on its way, not more
  if (shared_bytes(c) > d.shared_memory_per_block) return false;                  // the device's limit
  if (registers_of(c) > 255) return false;                                        // a thread has no more
  if (registers_of(c) * threads_of(c) * c.residency > d.registers_per_multiprocessor) return false;  // so many blocks do not fit
  if (threads_of(c) * c.residency > d.threads_per_multiprocessor) return false;   // nor do their threads
  if (shared_bytes(c) * c.residency > d.shared_memory_per_multiprocessor) return false;  // nor their tiles
  if (c.exact && (p.m % c.bm != 0 || p.n % c.bn != 0)) return false;              // tiles reach beyond out
  if (c.exact && p.k % (c.bk * c.split) != 0) return false;                       // shares reach beyond k
  if (c.bm > 64 && c.bm >= 2 * p.m) return false;                                 // more than half of every tile is outside
  if (c.bn > 64 && c.bn >= 2 * p.n) return false;                                 // the same along n
  if (c.raster > 8 && c.raster > ceil_div(p.m, (long)c.bm)) return false;         // the same order as with a smaller one
  if (c.split > 1 && c.split * 4 * c.bk > p.k) return false;                      // a share of k is worth at least four steps
  return c.split == 1 || tiles_of(p, c) * c.split <= 8 * d.multiprocessors;       // more blocks gain nothing, and partial sums cost
}

constexpr Launch launch_gemm(Problem p, Config c) {
  return {.grid = {tiles_of(p, c), c.split}, .block = {threads_of(c)}, .shared = shared_bytes(c)};
}
constexpr Launch launch_gemm_sum(Problem p, Config c) {
  return {.grid = {ceil_div(p.m * p.n, 256L)}, .block = {256}, .enabled = c.split > 1};
}

template <class T> constexpr Cost cost(Problem p) {
  return {.flops = 2.0 * p.m * p.n * p.k,
          .bytes = (1.0 * p.m * p.k + 1.0 * p.k * p.n + 1.0 * p.m * p.n) * sizeof(T),
          .sum_length = 1.0 * p.k};
}

template <class T> REFERENCE(p.m * p.n) void gemm_reference(long i, const T* a, const T* b, double* out, Problem p) {
  const long row = i / p.n, column = i % p.n;
  double sum = 0;
  for (long k = 0; k < p.k; ++k) sum += (double)(float)a[row * p.k + k] * (double)(float)b[k * p.n + column];
  out[i] = sum;
}

// ---- asynchronous copies ---------------------------------------------------------------------------------------------------------------
/// Starts copying `count` floats into shared memory; zeros unless `inside`.
template <int count> HONE_DEVICE void copy_async(float* to, const float* from, bool inside) {
#if defined(__CUDACC__)
  const unsigned at = (unsigned)__cvta_generic_to_shared(to);
  const int bytes = inside ? count * 4 : 0;  // what is missing of the full size is filled with zeros
  if constexpr (count == 4) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(count * 4), "r"(bytes) : "memory");
  }
#else
  for (int e = 0; e < count; ++e) to[e] = inside ? from[e] : 0.0f;
#endif
}

/// Closes the group of copies started since the last call.
HONE_DEVICE void end_group() {
#if defined(__CUDACC__)
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits for all groups but the newest `pending`.
template <int pending> HONE_DEVICE void wait_groups() {
#if defined(__CUDACC__)
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
}

// ---- from memory to shared memory ------------------------------------------------------------------------------------------------------
/// The block's place: its tile, and its share of k.
struct Place {
  long row, column, k_begin, k_end;
};

template <Config c> HONE_DEVICE Place place_of(Problem p) {
  const int tiles_m = (int)ceil_div(p.m, (long)c.bm), tiles_n = (int)ceil_div(p.n, (long)c.bn);
  const int block = (int)blockIdx.x, per_group = c.raster * tiles_n, group = block / per_group;
  const int height = min_of(c.raster, tiles_m - group * c.raster), within = block % per_group;
  const long share = ceil_div(ceil_div(p.k, (long)c.bk), (long)c.split) * c.bk, begin = min_of(p.k, share * (long)blockIdx.y);
  return {(group * c.raster + within % height) * (long)c.bm, within / height * (long)c.bn, begin, min_of(p.k, begin + share)};
}

/// Carries the block's tiles of a and b to a stage in shared memory. Rows and columns outside the matrices are read as the last ones: what
/// comes of them is not written, and so only the end of k needs a check (kWhole: not even that). k, n and the shares of k are multiples of
/// vec (or of bk), so a word lies inside as a whole or not at all.
template <class T, Config c> struct Loader {
  static constexpr int kThreads = threads_of(c), kPitch = pitch_of(c);
  static constexpr int kA = ceil_div(c.bm * c.bk / c.vec, kThreads), kB = ceil_div(c.bn * c.bk / c.vec, kThreads);
  const T *a, *b;
  Problem p;
  Place at;
  Vector<T, c.vec> words_a[kA], words_b[kB];

  /// Whether slot `slot` of a tile of `slots` words exists: with few words some threads have nothing to carry.
  static HONE_DEVICE bool exists(int slot, int slots) { return slots % kThreads == 0 || slot < slots; }
  HONE_DEVICE const T* address_a(int row, long k) const { return a + (c.exact ? at.row + row : min_of(at.row + row, p.m - 1)) * p.k + k; }
  HONE_DEVICE const T* address_b(long k, int column) const {
    return b + k * p.n + (c.exact ? at.column + column : min_of(at.column + column, p.n - c.vec));
  }

  static HONE_DEVICE Vector<T, c.vec> zeros() {
    Vector<T, c.vec> word;
#pragma unroll
    for (int e = 0; e < c.vec; ++e) word[e] = T(0.0f);
    return word;
  }

  /// Reads the tiles that begin at k0 into registers.
  template <bool kWhole> HONE_DEVICE void fetch(long k0) {
#pragma unroll
    for (int i = 0; i < kA; ++i) {
      const int slot = (int)threadIdx.x + i * kThreads, row = slot / (c.bk / c.vec), k = slot % (c.bk / c.vec) * c.vec;
      const bool inside = exists(slot, c.bm * c.bk / c.vec) && (kWhole || k0 + k < at.k_end);
      words_a[i] = inside ? load<c.vec>(address_a(row, k0 + k)) : zeros();
    }
#pragma unroll
    for (int i = 0; i < kB; ++i) {
      const int slot = (int)threadIdx.x + i * kThreads, k = slot / (c.bn / c.vec), column = slot % (c.bn / c.vec) * c.vec;
      const bool inside = exists(slot, c.bn * c.bk / c.vec) && (kWhole || k0 + k < at.k_end);
      words_b[i] = inside ? load<c.vec>(address_b(k0 + k, column)) : zeros();
    }
  }
  HONE_DEVICE void fetch(long k0) {
    if (c.exact || k0 + c.bk <= at.k_end) {
      fetch<true>(k0);
    } else {
      fetch<false>(k0);
    }
  }

  /// Writes what fetch read to a stage.
  HONE_DEVICE void put(float* stage) const {
    constexpr int kWidth = min_of(c.vec, 4);
#pragma unroll
    for (int i = 0; i < kA; ++i) {
      const int slot = (int)threadIdx.x + i * kThreads, row = slot / (c.bk / c.vec), k = slot % (c.bk / c.vec) * c.vec;
      if (!exists(slot, c.bm * c.bk / c.vec)) continue;
#pragma unroll
      for (int e = 0; e < c.vec; ++e) stage[(k + e) * kPitch + row] = (float)words_a[i][e];
    }
#pragma unroll
    for (int i = 0; i < kB; ++i) {
      const int slot = (int)threadIdx.x + i * kThreads;
      if (!exists(slot, c.bn * c.bk / c.vec)) continue;
#pragma unroll
      for (int first = 0; first < c.vec; first += kWidth) {
        Vector<float, kWidth> floats;
#pragma unroll
        for (int e = 0; e < kWidth; ++e) floats[e] = (float)words_b[i][first + e];
        store(stage + c.bk * kPitch + slot * c.vec + first, floats);
      }
    }
  }

  /// Starts copying the tiles that begin at k0 to a stage. a's elements go one by one: that transposes the tile on its way.
  template <bool kWhole> HONE_DEVICE void start(float* stage, long k0) const {
#pragma unroll
    for (int i = 0; i < ceil_div(c.bm * c.bk, kThreads); ++i) {
      const int slot = (int)threadIdx.x + i * kThreads, row = slot / c.bk, k = slot % c.bk;
      if (exists(slot, c.bm * c.bk)) copy_async<1>(stage + k * kPitch + row, address_a(row, k0 + k), kWhole || k0 + k < at.k_end);
    }
#pragma unroll
    for (int i = 0; i < kB; ++i) {
      const int slot = (int)threadIdx.x + i * kThreads, k = slot / (c.bn / c.vec), column = slot % (c.bn / c.vec) * c.vec;
      float* to = stage + c.bk * kPitch + slot * c.vec;
      if (exists(slot, c.bn * c.bk / c.vec)) copy_async<c.vec>(to, address_b(k0 + k, column), kWhole || k0 + k < at.k_end);
    }
  }
  HONE_DEVICE void start(float* stage, long k0) const {
    if constexpr (c.exact) {
      if (k0 < at.k_end) start<true>(stage, k0);
    } else if (k0 + c.bk <= at.k_end) {
      start<true>(stage, k0);
    } else if (k0 < at.k_end) {
      start<false>(stage, k0);
    }
  }
};

// ---- from shared memory to out ---------------------------------------------------------------------------------------------------------
/// One thread's sums: groups of up to 4 rows and columns, a warp's width apart, so that the lanes read shared memory side by side.
template <Config c> struct Sums {
  static constexpr int kRows = min_of(c.tm, 4), kColumns = min_of(c.tn, 4), kDown = 32 / c.lanes;
  int first_row, first_column;  // in the block's tile
  float values[c.tm][c.tn] = {};

  HONE_DEVICE Sums() {
    constexpr int kWarpsAcross = c.bn / (c.lanes * c.tn);
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    first_row = warp / kWarpsAcross * kDown * c.tm + lane / c.lanes * kRows;
    first_column = warp % kWarpsAcross * c.lanes * c.tn + lane % c.lanes * kColumns;
  }
  HONE_DEVICE int row(int i) const { return first_row + i / kRows * (kDown * kRows) + i % kRows; }
  HONE_DEVICE int column(int j) const { return first_column + j / kColumns * (c.lanes * kColumns) + j % kColumns; }

  /// What one k of a stage gives this thread.
  struct Fragment {
    Vector<float, kRows> a[c.tm / kRows];
    Vector<float, kColumns> b[c.tn / kColumns];
  };
  HONE_DEVICE Fragment read(const float* stage, int k) const {
    constexpr int kPitch = pitch_of(c);
    Fragment f;
#pragma unroll
    for (int g = 0; g < c.tm / kRows; ++g) f.a[g] = load<kRows>(stage + k * kPitch + row(g * kRows));
#pragma unroll
    for (int g = 0; g < c.tn / kColumns; ++g) f.b[g] = load<kColumns>(stage + c.bk * kPitch + k * c.bn + column(g * kColumns));
    return f;
  }

  /// Back and forth along the rows: neighbouring instructions share an operand.
  HONE_DEVICE void add(const Fragment& f) {
#pragma unroll
    for (int i = 0; i < c.tm; ++i) {
#pragma unroll
      for (int step = 0; step < c.tn; ++step) {
        const int j = i % 2 == 0 ? step : c.tn - 1 - step;
        values[i][j] = fmaf(f.a[i / kRows][i % kRows], f.b[j / kColumns][j % kColumns], values[i][j]);
      }
    }
  }

  /// A whole stage; each fragment is read while the one before is used.
  HONE_DEVICE void add(const float* stage) {
    Fragment now = read(stage, 0);
#pragma unroll
    for (int k = 0; k < c.bk; ++k) {
      Fragment next;
      if (k + 1 < c.bk) next = read(stage, k + 1);
      add(now);
      now = next;
    }
  }

  template <class To> HONE_DEVICE void write(To* to, const Place& at, Problem p) const {
    constexpr int kWidth = min_of(kColumns, c.vec);
#pragma unroll
    for (int i = 0; i < c.tm; ++i) {
      const long at_row = at.row + row(i);
#pragma unroll
      for (int j = 0; j < c.tn; j += kWidth) {
        const long at_column = at.column + column(j);
        if (!c.exact && (at_row >= p.m || at_column >= p.n)) continue;
        Vector<To, kWidth> word;
#pragma unroll
        for (int e = 0; e < kWidth; ++e) word[e] = To(values[i][j + e]);
        store(to + at_row * p.n + at_column, word);
      }
    }
  }
};

/// Adds up a share of k: the next tiles come by way of registers while the present ones are used.
template <class T, Config c> HONE_DEVICE void accumulate(Loader<T, c>& loader, Sums<c>& sums, float* shared) {
  const Place& at = loader.at;
  float *present = shared, *next = shared + (c.stages - 1) * stage_floats(c);
  if (at.k_begin >= at.k_end) return;
  loader.fetch(at.k_begin);
  loader.put(present);
  __syncthreads();
  for (long k = at.k_begin; k < at.k_end; k += c.bk) {
    const bool more = k + c.bk < at.k_end;
    if (more) loader.fetch(k + c.bk);
    sums.add(present);
    if (c.stages == 1) __syncthreads();  // the one stage there is will be overwritten
    if (more) loader.put(next);
    __syncthreads();
    float* const swap = present;
    present = next;
    next = swap;
  }
}

/// The same with stages - 1 tiles on their way at any time, and no registers for them. The first fragment of a stage is read before the
/// last of the stage before is used, so that no wait for shared memory follows a barrier.
template <class T, Config c> HONE_DEVICE void accumulate_async(const Loader<T, c>& loader, Sums<c>& sums, float* shared) {
  const Place& at = loader.at;
#pragma unroll
  for (int s = 0; s < c.stages - 1; ++s) {
    loader.start(shared + s * stage_floats(c), at.k_begin + s * c.bk);
    end_group();
  }
  if (at.k_begin >= at.k_end) return;
  wait_groups<c.stages - 2>();
  __syncthreads();
  typename Sums<c>::Fragment now = sums.read(shared, 0);
  int present = 0, filled = c.stages - 1;
  for (long k0 = at.k_begin; k0 < at.k_end; k0 += c.bk) {
    const float* stage = shared + present * stage_floats(c);
    loader.start(shared + filled * stage_floats(c), k0 + (c.stages - 1) * c.bk);
    end_group();
    present = present + 1 == c.stages ? 0 : present + 1;
    filled = filled + 1 == c.stages ? 0 : filled + 1;
#pragma unroll
    for (int k = 0; k < c.bk; ++k) {
      typename Sums<c>::Fragment next;
      if (k + 1 < c.bk) {
        next = sums.read(stage, k + 1);
      } else {
        wait_groups<c.stages - 2>();
        __syncthreads();  // everyone's part of the next stage is here, and everyone has read this one
        next = sums.read(shared + present * stage_floats(c), 0);
      }
      sums.add(now);
      now = next;
    }
  }
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(threads_of(c), c.residency)
void gemm(IN(p.m * p.k) const T* __restrict__ a, IN(p.k * p.n) const T* __restrict__ b, OUT(p.m * p.n) T* __restrict__ out,
          WORKSPACE(c.split > 1 ? c.split * p.m * p.n : 1) float* __restrict__ partial, Problem p) {
  SHARED_DYNAMIC(float, shared);
  Loader<T, c> loader;
  loader.a = a;
  loader.b = b;
  loader.p = p;
  loader.at = place_of<c>(p);
  Sums<c> sums;
  if constexpr (c.async) {
    accumulate_async(loader, sums, shared);
  } else {
    accumulate(loader, sums, shared);
  }
  if constexpr (c.split > 1) {
    sums.write(partial + blockIdx.y * (p.m * p.n), loader.at, p);
  } else {
    sums.write(out, loader.at, p);
  }
}

/// Adds the shares of k, in their order: the result does not depend on which block ended first.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(256)
void gemm_sum(OUT(p.m * p.n) T* __restrict__ out, WORKSPACE(c.split > 1 ? c.split * p.m * p.n : 1) const float* __restrict__ partial,
              Problem p) {
  const long i = blockIdx.x * 256L + threadIdx.x;
  if (i >= p.m * p.n) return;
  float sum = 0;
#pragma unroll
  for (int s = 0; s < c.split; ++s) sum += partial[s * (p.m * p.n) + i];
  out[i] = T(sum);
}
