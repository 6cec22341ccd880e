// Matrix product on the ordinary cores: out[m, n] = sum over k of a[m, k] * b[k, n]; row-major, any m, n, k, accumulated in float.
#include <hone/kernel.h>

struct Problem {
  long m = 1024, n = 1024, k = 1024;
};

// A block computes a tile of bm x bn; each thread holds tm x tn of its sums in registers, as groups of 4 x 4 spread over the tile. The next
// bk columns of a and rows of b travel from global memory into registers while the present ones, in shared memory, are used.
struct Config {
  TUNE(32, 64, 128, 256) int bm = 64;     // rows of the block's tile: larger tiles read a and b less often
  TUNE(32, 64, 128, 256) int bn = 64;     // columns of the block's tile
  TUNE(8, 16, 32) int bk = 16;            // depth of one step: deeper steps synchronize less and hold more shared memory
  TUNE(4, 8, 16) int tm = 4;              // rows a thread computes: more reuse of each shared read, more registers
  TUNE(4, 8, 16) int tn = 4;              // columns a thread computes
  TUNE(4, 8, 16) int lanes = 8;           // threads of a warp along n, the others along m: near square reads shared memory least
  TUNE(1, 2, 4, 8) int vec = 1;           // elements in one access to a, b and out; rows must be a multiple of it
  TUNE(0, 4) int pad = 4;                 // floats behind each row of a's tile: fewer bank conflicts when it is stored transposed
  TUNE(1, 2, 4, 8, 16) int split = 1;     // blocks that share the sum over k: fills the device when m and n are small
  TUNE(1, 4, 8, 16) int raster = 8;       // row tiles that run side by side, so that the columns of b they share stay in L2
  TUNE(1, 2, 3) int residency = 1;        // blocks that must fit one multiprocessor: caps the registers
  TUNE(2, 4, 8) int unroll = 4;           // steps of the inner loop in flight: more hide shared memory's latency, at more registers
};

constexpr long threads_of(Config c) { return (c.bm / c.tm) * (c.bn / c.tn); }
constexpr long shared_floats(Config c) { return 2 * c.bk * (c.bm + c.pad + c.bn); }

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  const long threads = threads_of(c);
  if (threads < 64 || threads > 512) return false;                                  // fewer hide no latency, more leave too few registers
  if ((c.bn / c.tn) % c.lanes != 0) return false;                                   // whole warps along n
  if ((c.bm / c.tm) % (32 / c.lanes) != 0) return false;                            // and along m
  if (c.vec * sizeof(T) > 16) return false;                                         // the widest access is 16 bytes
  if (c.bk % c.vec != 0) return false;                                              // an access stays within a row of a's tile
  if (p.k % c.vec != 0 || p.n % c.vec != 0) return false;                           // rows of a, b and out stay aligned
  if ((c.bm * c.bk) % (threads * c.vec) != 0) return false;                         // every thread loads the same share of a's tile
  if ((c.bn * c.bk) % (threads * c.vec) != 0) return false;                         // and of b's
  if (c.tm * c.tn > 128) return false;                                              // the sums alone must fit the register file
  if (c.residency * threads * (c.tm * c.tn + 40) > 65536) return false;             // so many blocks do not fit a multiprocessor
  if (c.residency * shared_floats(c) * 4 > d.shared_memory_per_multiprocessor) return false;
  if (shared_floats(c) * 4 > d.shared_memory_per_block) return false;
  if (c.split > 1 && p.k < c.split * 4 * c.bk) return false;                        // each share of k is worth at least four steps
  return c.split == 1 || c.split * p.m * p.n <= (1L << 30);                         // the partial sums take at most 4 GiB
}

constexpr Launch launch_gemm(Problem p, Config c) {
  return {.grid = {ceil_div(p.m, (long)c.bm) * ceil_div(p.n, (long)c.bn), c.split}, .block = {threads_of(c)}, .shared = 4 * shared_floats(c)};
}
constexpr Launch launch_gemm_sum(Problem p, Config c) { return {.grid = {ceil_div(p.m * p.n, 256L)}, .block = {256}, .enabled = c.split > 1}; }

template <class T> constexpr Cost cost(Problem p) {
  return {.flops = 2.0 * p.m * p.n * p.k, .bytes = (1.0 * p.m * p.k + 1.0 * p.k * p.n + 1.0 * p.m * p.n) * sizeof(T), .sum_length = 1.0 * p.k};
}

template <class T> REFERENCE(p.m * p.n) void gemm_reference(long i, const T* a, const T* b, double* out, Problem p) {
  const long row = i / p.n, column = i % p.n;
  double sum = 0;
  for (long k = 0; k < p.k; ++k) sum += (double)(float)a[row * p.k + k] * (double)(float)b[k * p.n + column];
  out[i] = sum;
}

/// The block's place: its tile, and its share of k.
struct Place {
  long row, column, k_begin, k_end;
};

template <Config c> HONE_DEVICE Place place_of(Problem p) {
  const int tiles_m = (int)ceil_div(p.m, (long)c.bm), tiles_n = (int)ceil_div(p.n, (long)c.bn);
  const int block = blockIdx.x, per_group = c.raster * tiles_n, group = block / per_group;
  const int height = min_of(c.raster, tiles_m - group * c.raster), within = block % per_group;
  const long share = round_up(ceil_div(p.k, (long)c.split), (long)c.bk), begin = min_of(p.k, share * (long)blockIdx.y);
  return {(group * c.raster + within % height) * (long)c.bm, within / height * (long)c.bn, begin, min_of(p.k, begin + share)};
}

/// One thread's share of the next tiles, on its way from global to shared memory.
template <class T, Config c> struct Staged {
  static constexpr int kThreads = (c.bm / c.tm) * (c.bn / c.tn);
  static constexpr int kA = c.bm * c.bk / (kThreads * c.vec), kB = c.bn * c.bk / (kThreads * c.vec);
  Vector<T, c.vec> a[kA], b[kB];

  template <bool kChecked> HONE_DEVICE void load_tiles(const T* a_from, const T* b_from, const Place& at, long k0, Problem p) {
#pragma unroll
    for (int i = 0; i < kA; ++i) {
      const int slot = threadIdx.x + i * kThreads, row = slot / (c.bk / c.vec), k = slot % (c.bk / c.vec) * c.vec;
      const bool inside = !kChecked || (at.row + row < p.m && k0 + k < at.k_end);
      a[i] = inside ? load<c.vec>(a_from + (at.row + row) * p.k + k0 + k) : zero();
      if (kChecked && c.vec > 1) {
        // A share of k may end within an access.
        for (int j = 0; j < c.vec; ++j) a[i][j] = k0 + k + j < at.k_end ? a[i][j] : T(0.0f);
      }
    }
#pragma unroll
    for (int i = 0; i < kB; ++i) {
      const int slot = threadIdx.x + i * kThreads, k = slot / (c.bn / c.vec), column = slot % (c.bn / c.vec) * c.vec;
      const bool inside = !kChecked || (k0 + k < at.k_end && at.column + column < p.n);
      b[i] = inside ? load<c.vec>(b_from + (k0 + k) * p.n + at.column + column) : zero();
    }
  }

  HONE_DEVICE void store_tiles(float* a_tile, float* b_tile) const {
#pragma unroll
    for (int i = 0; i < kA; ++i) {
      const int slot = threadIdx.x + i * kThreads, row = slot / (c.bk / c.vec), k = slot % (c.bk / c.vec) * c.vec;
#pragma unroll
      for (int j = 0; j < c.vec; ++j) a_tile[(k + j) * (c.bm + c.pad) + row] = (float)a[i][j];
    }
#pragma unroll
    for (int i = 0; i < kB; ++i) {
      const int slot = threadIdx.x + i * kThreads, k = slot / (c.bn / c.vec), column = slot % (c.bn / c.vec) * c.vec;
      Vector<float, (c.vec < 4 ? c.vec : 4)> values[(c.vec + 3) / 4];
#pragma unroll
      for (int j = 0; j < c.vec; ++j) values[j / 4][j % 4] = (float)b[i][j];
#pragma unroll
      for (int j = 0; j < (c.vec + 3) / 4; ++j) store(b_tile + k * c.bn + column + 4 * j, values[j]);
    }
  }

  static HONE_DEVICE Vector<T, c.vec> zero() {
    Vector<T, c.vec> zeros;
#pragma unroll
    for (int j = 0; j < c.vec; ++j) zeros[j] = T(0.0f);
    return zeros;
  }
};

/// sums[i][j] += a_tile[k][row i] * b_tile[k][column j] for the thread's rows and columns, over the tile's depth.
template <Config c> HONE_DEVICE void multiply(const float* a_tile, const float* b_tile, int x, int y, float (&sums)[c.tm][c.tn]) {
#pragma unroll c.unroll
  for (int k = 0; k < c.bk; ++k) {
    float rows[c.tm], columns[c.tn];
#pragma unroll
    for (int g = 0; g < c.tm / 4; ++g) {
      const auto four = load<4>(a_tile + k * (c.bm + c.pad) + g * (c.bm / (c.tm / 4)) + y * 4);
#pragma unroll
      for (int j = 0; j < 4; ++j) rows[4 * g + j] = four[j];
    }
#pragma unroll
    for (int g = 0; g < c.tn / 4; ++g) {
      const auto four = load<4>(b_tile + k * c.bn + g * (c.bn / (c.tn / 4)) + x * 4);
#pragma unroll
      for (int j = 0; j < 4; ++j) columns[4 * g + j] = four[j];
    }
#pragma unroll
    for (int i = 0; i < c.tm; ++i) {
#pragma unroll
      for (int j = 0; j < c.tn; ++j) sums[i][j] += rows[i] * columns[j];
    }
  }
}

/// Writes a thread's four neighbouring sums of one row.
template <class To, int kVec> HONE_DEVICE void write_four(To* to, const float* sums, long columns_left) {
  constexpr int kWidth = kVec < 4 ? kVec : 4;
#pragma unroll
  for (int j = 0; j < 4; j += kWidth) {
    Vector<To, kWidth> values;
#pragma unroll
    for (int v = 0; v < kWidth; ++v) values[v] = To(sums[j + v]);
    if (j + kWidth <= columns_left) store(to + j, values);
  }
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS((c.bm / c.tm) * (c.bn / c.tn), c.residency) void gemm(IN(p.m * p.k) const T* a, IN(p.k * p.n) const T* b, OUT(p.m * p.n) T* out,
                                                                          WORKSPACE(c.split > 1 ? c.split * p.m * p.n : 1) float* partial, Problem p) {
  SHARED_DYNAMIC(float, shared);
  constexpr int kTileA = c.bk * (c.bm + c.pad), kTileB = c.bk * c.bn, kWarpsX = c.bn / c.tn / c.lanes;
  float *const a_tiles = shared, *const b_tiles = shared + 2 * kTileA;  // two of each: one is read while the other is filled
  const Place at = place_of<c>(p);
  const bool whole = at.row + c.bm <= p.m && at.column + c.bn <= p.n;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int x = warp % kWarpsX * c.lanes + lane % c.lanes, y = warp / kWarpsX * (32 / c.lanes) + lane / c.lanes;

  Staged<T, c> next;
  const auto fetch = [&](long k0) {
    if (whole && k0 + c.bk <= at.k_end) {
      next.template load_tiles<false>(a, b, at, k0, p);
    } else {
      next.template load_tiles<true>(a, b, at, k0, p);
    }
  };
  float sums[c.tm][c.tn] = {};
  int current = 0;
  fetch(at.k_begin);
  next.store_tiles(a_tiles, b_tiles);
  __syncthreads();
  for (long k0 = at.k_begin; k0 < at.k_end; k0 += c.bk) {
    const bool more = k0 + c.bk < at.k_end;
    if (more) fetch(k0 + c.bk);
    multiply<c>(a_tiles + current * kTileA, b_tiles + current * kTileB, x, y, sums);
    current ^= 1;
    if (more) next.store_tiles(a_tiles + current * kTileA, b_tiles + current * kTileB);
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < c.tm; ++i) {
    const long row = at.row + i / 4 * (c.bm / (c.tm / 4)) + y * 4 + i % 4;
#pragma unroll
    for (int g = 0; g < c.tn / 4; ++g) {
      const long column = at.column + g * (c.bn / (c.tn / 4)) + x * 4;
      if (row >= p.m || column >= p.n) continue;
      if (c.split > 1) {
        write_four<float, c.vec>(partial + ((long)blockIdx.y * p.m + row) * p.n + column, &sums[i][4 * g], p.n - column);
      } else {
        write_four<T, c.vec>(out + row * p.n + column, &sums[i][4 * g], p.n - column);
      }
    }
  }
}

/// Adds the shares of k, in their order: the result does not depend on which block ended first.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(256) void gemm_sum(OUT(p.m * p.n) T* out, WORKSPACE(c.split > 1 ? c.split * p.m * p.n : 1) const float* partial, Problem p) {
  const long i = (long)blockIdx.x * 256 + threadIdx.x;
  if (i >= p.m * p.n) return;
  float sum = 0;
  for (int s = 0; s < c.split; ++s) sum += partial[s * p.m * p.n + i];
  out[i] = T(sum);
}
