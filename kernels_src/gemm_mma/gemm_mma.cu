// Matrix product on tensor cores, a warp at a time: out = activation(alpha * a b + beta * added + bias), a and b each transposed or not,
// any m, n, k; sums in float.
#include <hone/kernel.h>
#include <hone/kernel_hopper.h>

struct Problem {
  long m = 1024, n = 1024, k = 1024;
  RANGE(1, 4) STATIC long layout = 1;      // how a and b lie: 1 a[m, k] b[k, n], 2 a[m, k] b[n, k], 3 a[k, m] b[k, n], 4 a[k, m] b[n, k]
  RANGE(1, 4) STATIC long terms = 1;       // what is added to alpha * a b: 1 nothing, 2 beta * added[m, n], 3 bias[n], 4 both
  RANGE(1, 4) STATIC long activation = 1;  // 1 none, 2 relu, 3 gelu, 4 silu
};

// A block computes bm x bn elements of out, a warp wm x wn of them, in steps of bk along k. Shared memory holds the tiles of a and b in
// words of 16 bytes, swizzled so that eight lanes that read a column of words use different banks.
struct Config {
  TUNE(16, 32, 64, 128, 256) int bm = 64;     // rows of the block's tile: larger tiles read a and b less often, smaller ones give more blocks
  TUNE(32, 64, 128, 256) int bn = 64;         // columns of the block's tile
  TUNE(32, 64) int bk = 32;                   // depth of one step: deeper steps synchronize less and hold more shared memory
  TUNE(16, 32, 64, 128) int wm = 32;          // rows a warp computes: more reuse of what it reads, more registers
  TUNE(16, 32, 64, 128) int wn = 32;          // columns a warp computes
  TUNE(2, 3, 4, 5, 6, 8) int stages = 2;      // steps in shared memory: one is used while the others are loaded
  TUNE(1, 2, 4, 8) int vec = 1;               // elements in one access: lines are multiples of it. 1: lines may begin anywhere
  TUNE(1, 2, 4, 8, 16) int split = 1;         // split-K: blocks that share a tile's sum over k where tiles are few. Costs a second pass
  TUNE(1, 2, 4, 8) int cluster = 1;           // the same without a second pass: the blocks reduce it through distributed shared memory (Hopper)
  TUNE(0, 1, 2) int once = 0;                 // a (1) or b (2) is read once and need not stay in L2
  TUNE(1, 4, 8) int raster = 4;               // row tiles that run side by side, so that the columns of b they share stay in L2
};
#include "../product.h"

HONE_BOTH constexpr int threads_of(Config c) { return c.bm / c.wm * (c.bn / c.wn) * 32; }
HONE_BOTH constexpr int stage_bytes(Config c) { return (c.bm + c.bn) * c.bk * 2; }
/// Floats from one row of sums in shared memory to the next: 8 more than it needs, against bank conflicts.
HONE_BOTH constexpr int pitch_of(Config c) { return c.bn + 8; }
HONE_BOTH constexpr int shared_bytes(Config c) {
  return c.stages * stage_bytes(c) + (c.cluster > 1 ? c.bm * pitch_of(c) * 4 + 8 : 0);  // the sums of the cluster's blocks, and an mbarrier
}
/// Blocks that share the sum over k.
HONE_BOTH constexpr int shares_of(Config c) { return c.split * c.cluster; }
/// Words of 16 bytes that a thread copies in one step, of a and of b.
HONE_BOTH constexpr int carried_a(Config c) { return ceil_div(c.bm * c.bk / 8, threads_of(c)); }
HONE_BOTH constexpr int carried_b(Config c) { return ceil_div(c.bk * c.bn / 8, threads_of(c)); }
HONE_BOTH constexpr long tiles_of(Problem p, Config c) { return ceil_div(p.m, (long)c.bm) * ceil_div(p.n, (long)c.bn); }
/// Registers of a thread, estimated low: sums, fragments of a and b, words on their way.
HONE_BOTH constexpr int registers_of(Config c) {
  return c.wm * c.wn / 32 + c.wm / 4 + c.wn / 4 + (c.vec == 1 ? 8 * (carried_a(c) + carried_b(c)) : 0) + 30;
}

/// Elements of a line of an operand.
constexpr long line_a(Problem p) { return a_is_k_major() ? p.k : p.m; }
constexpr long line_b(Problem p) { return b_is_k_major() ? p.k : p.n; }

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (d.compute_capability < 80) return false;                             // mma of bf16 and cp.async
  if (c.bm % c.wm != 0) return false;                                      // whole warps along m
  if (c.bn % c.wn != 0) return false;                                      // whole warps along n
  if (threads_of(c) > d.threads_per_block) return false;                   // the device's limit
  if (shared_bytes(c) > d.shared_memory_per_block) return false;           // the device's limit
  if (c.vec == 1 && c.stages != 2) return false;                           // registers hold one step on its way, not more
  if (line_a(p) % c.vec != 0) return false;                                // lines of a are whole aligned words
  if (line_b(p) % c.vec != 0) return false;                                // lines of b, too
  if (c.cluster > 1 && d.compute_capability < 90) return false;            // clusters: Hopper
  if (c.cluster > 1 && c.split > 1) return false;                          // one way to share at a time
  if (c.split > 1 && 16 * c.split * p.m * p.n > d.memory) return false;    // partial sums occupy at most a quarter of memory
  return c.vec == 8 || c.once == 0;                                        // duplicate: only wide copies have a cache hint
}

// Learned on an H200 in November 2026, at the products of bench/vendor, in bf16.
template <class T> constexpr bool likely(Problem p, Config c, Device d) {
  if (threads_of(c) < 64) return false;                                    // one warp cannot hide its own latency
  if (threads_of(c) < 128 && c.bm * c.bn >= 16 * 64) return false;         // two warps cannot, either, where there is work for four
  if (threads_of(c) > 512) return false;                                   // barriers of more warps take too long
  if (c.once == 1 && c.bn < p.n) return false;                             // other columns of tiles read a again
  if (c.once == 2 && c.bm < p.m) return false;                             // other rows of tiles read b again
  if (c.vec < 8 && (line_a(p) | line_b(p)) % (2 * c.vec) == 0) return false;  // wider accesses are possible
  if (registers_of(c) > 255) return false;                                 // spills: a thread has no more
  if (registers_of(c) * threads_of(c) > d.registers_per_multiprocessor) return false;  // spills: a multiprocessor has no more
  if (c.bm > 16 && c.bm >= 2 * p.m) return false;                          // more than half of every tile is outside
  if (c.bn > 32 && c.bn >= 2 * p.n) return false;                          // the same along n
  if (c.bm * c.bn > 16 * 64 && 2 * tiles_of(p, c) * shares_of(c) <= d.multiprocessors) return false;  // half of the device would be idle
  if (c.raster > 1 && c.raster > ceil_div(p.m, (long)c.bm)) return false;  // a smaller one gives nearly the same order
  if (c.stages > 2 && (c.stages - 2) * c.bk * shares_of(c) >= p.k) return false;  // stages that are never filled
  if (c.split > 1 && c.split * 4 * c.bk > p.k) return false;               // a share of k is worth at least four steps
  if (c.cluster > 1 && 2 * shared_bytes(c) > d.shared_memory_per_multiprocessor) return false;  // the next call begins on the same multiprocessors
  if (c.split > 1 && c.split <= 8 && d.compute_capability >= 90) return false;  // a cluster saves the second pass
  if (c.cluster > 1 && c.cluster * c.bk >= p.k + c.bk) return false;       // a block would have no step
  return shares_of(c) == 1 || tiles_of(p, c) * shares_of(c) <= 8 * d.multiprocessors;  // more blocks gain nothing, and partial sums cost time
}

constexpr Launch launch_gemm_mma(Problem p, Config c) {
  return {.grid = {tiles_of(p, c) * c.cluster, c.split},
          .block = {threads_of(c)},
          .cluster = {c.cluster},
          .shared = shared_bytes(c),
          .overlap = true};
}
constexpr Launch launch_gemm_mma_sum(Problem p, Config c) {
  return {.grid = {ceil_div(p.m * p.n, 256L)}, .block = {256}, .enabled = c.split > 1, .overlap = true};
}

template <class T>
REFERENCE(p.m * p.n)
void gemm_mma_reference(long i, const T* a, const T* b, const T* added, const T* bias, double* out, float alpha, float beta, Problem p) {
  out[i] = product_at(i, a, b, added, bias, alpha, beta, p);
}

// These files use Problem and Config.
#include "instructions.h"
#include "tile.h"
#include "sums.h"
#include "block.h"

template <class T, Config c>
KERNEL DTYPES(bf16, f16) LAUNCH_BOUNDS(threads_of(c))
void gemm_mma(IN(p.m * p.k) const T* __restrict__ a, IN(p.k * p.n) const T* __restrict__ b,
              IN(p.terms % 2 == 0 ? p.m * p.n : 1) const T* __restrict__ added, IN(p.terms >= 3 ? p.n : 1) const T* __restrict__ bias,
              OUT(p.m * p.n) T* __restrict__ out, WORKSPACE(c.split > 1 ? c.split * p.m * p.n : 1) float* __restrict__ partial,
              SCALAR(1.0) float alpha, SCALAR(1.0) float beta, Problem p) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  SHARED_DYNAMIC(unsigned char, shared);
  const long a_lines = a_is_k_major() ? p.m : p.k, a_line = a_is_k_major() ? p.k : p.m;
  const long b_lines = b_is_k_major() ? p.n : p.k, b_line = b_is_k_major() ? p.k : p.n;
  Block<T, c> block{{a, a_lines, a_line}, {b, b_lines, b_line}, p.k, place_of<c>(p), hopper::shared_address(shared)};
  const ClusterSums<c> cluster_sums(block.shared);
  if constexpr (c.cluster > 1) cluster_sums.prepare();
  block.seek();
  hopper::grid_dependency_wait_after(block.a.at, block.b.at);
  launch_dependents();  // not earlier: blocks of several calls would fill the first multiprocessors that have room
  Sums<T, c> sums;
  if constexpr (c.vec == 1) {
    block.accumulate(sums);
  } else {
    block.accumulate_async(sums);
  }
  if constexpr (c.split > 1) {
    sums.write(partial + blockIdx.y * (p.m * p.n), block.at, p);
  } else if constexpr (c.cluster > 1) {
    sums.join(out, {added, bias, alpha, beta}, block.at, p, cluster_sums);
  } else {
    sums.write(out, {added, bias, alpha, beta}, block.at, p);
  }
#endif
}

/// Adds up the shares of k in a fixed order: the result is deterministic.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(256)
void gemm_mma_sum(IN(p.terms % 2 == 0 ? p.m * p.n : 1) const T* __restrict__ added, IN(p.terms >= 3 ? p.n : 1) const T* __restrict__ bias,
                  OUT(p.m * p.n) T* __restrict__ out, WORKSPACE(c.split > 1 ? c.split * p.m * p.n : 1) const float* partial,
                  SCALAR(1.0) float alpha, SCALAR(1.0) float beta, Problem p) {
  grid_dependency_wait();
  launch_dependents();
  const long i = blockIdx.x * 256L + threadIdx.x;
  if (i >= p.m * p.n) return;
  float sum = 0;
#pragma unroll
  for (int s = 0; s < c.split; ++s) sum += partial[s * (p.m * p.n) + i];
  const Finish<T> finish = {added, bias, alpha, beta};
  const long row = Finish<T>::kBiased ? i / p.n : 0;  // most configurations do without the division
  finish.template write<1>(out, {sum}, row, i - row * p.n, p.n);
}
