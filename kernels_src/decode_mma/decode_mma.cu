// Decoding on tensor cores, a warp at a time: attention of the last tokens of each sequence to all its tokens, whose keys and values lie in
// pages; lse is the logarithm of the sum of exponentials.
#include <hone/kernel.h>
#include <hone/kernel_hopper.h>
#include <hone/kernel_narrow.h>

struct Problem {
  long sequences = 32;
  long heads = 8;                         // heads of k and v
  long group = 4;                         // heads of q that share one of k and v
  RANGE(1, 8) long queries = 1;           // tokens of q for each sequence: its last ones
  long longest = 4096;                    // tokens of the longest sequence
  RANGE(0, 100) long varied = 0;          // percent by which the shortest sequence is shorter; lengths are drawn from between
  long page = 64;                         // tokens of a page of k and v; from `longest` on, the cache is contiguous
  RANGE(32, 512) STATIC long head = 128;  // elements of a head: multiples of 32
};

// The rows of q that share a head of k and v are the rows of a product. A block has a part of a sequence's keys, in steps that its warps
// take in turn; each warp loads its own keys and values some steps ahead and needs no other one until the end.
struct Config {
  TUNE(1, 2, 4, 8) int warps = 4;      // of a block
  TUNE(16, 32) int wm = 16;            // rows of q of a block: they share what is loaded
  TUNE(16, 32, 64) int bn = 16;        // keys of a step, all in one page
  TUNE(2, 3, 4, 6, 8) int stages = 3;  // steps of a warp in shared memory
  TUNE(0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 33, 48, 64, 66, 96, 128)
  int split = 0;                           // parts of the longest sequence: more blocks, and a second pass; 0: by the shape
  TUNE(1, 2, 4) int waves = 1;             // by the shape: so many waves of blocks, each with a part
  TUNE(false, true) bool cluster = false;  // the parts are a cluster of blocks, which add them up without a second pass (Hopper)
  TUNE(false, true) bool held = false;     // q stays in registers, not in shared memory
  TUNE(1, 2, 3, 4, 6) int residency = 2;   // blocks on a multiprocessor, for which registers are left: some begin while others load
  TUNE(false, true) bool once = true;      // keys and values leave L2 first
};
#include "../attention_lines.h"
#include "../decode.h"
#include "../decode_parts.h"

HONE_BOTH constexpr int threads_of(const Config& c) { return c.warps * 32; }
HONE_BOTH constexpr long q_bytes(const Config& c) { return c.wm * line_pitch() * 2; }
/// Floats of a row that warps exchange at the end: sums; four for a warp's largest score and total, and four for the block's.
HONE_BOTH constexpr long pitch_of() { return Problem::head + 8; }
/// `bytes`: of an element of the cache.
constexpr long shared_bytes(Problem p, Config c, long bytes) {
  return c.wm * line_pitch() * 2 + max_of(c.warps * c.stages * 2 * c.bn * line_pitch() * bytes, c.warps * c.wm * (p.head + 8) * 4);
}
HONE_BOTH constexpr long shared_rows(Problem p) { return p.queries * p.group; }
HONE_BOTH constexpr long row_tiles(Problem p, const Config& c) { return ceil_div(shared_rows(p), (long)c.wm); }
/// Keys of a part: whole steps.
HONE_BOTH constexpr long part_keys(Problem p, const Config& c) {
  if (c.split > 0) return round_up(ceil_div(p.longest, (long)c.split), (long)c.bn);
  return keys_by_shape(p.longest, p.sequences * p.heads * row_tiles(p, c), kMultiprocessors * c.residency * c.waves, c.warps * c.bn);
}
HONE_BOTH constexpr long parts_of(Problem p, const Config& c) {
  return c.split > 0 ? c.split : ceil_div((int)p.longest, (int)part_keys(p, c));
}
/// Whether a second pass adds up parts of a sequence.
HONE_BOTH constexpr bool has_parts(Problem p, const Config& c) { return !c.cluster && parts_of(p, c) > 1; }

template <class T, class KV>
constexpr bool valid(Problem p, Config c, Device d) {
  if (p.longest < p.queries) return false;                                       // queries without keys
  if (d.compute_capability < 80) return false;                                   // mma of bf16 and cp.async
  if (p.head % 32 != 0 || p.head > 256) return false;                            // the answer is computed in shares of 32; registers
  if (sizeof(KV) == 1 && p.head != line_pitch()) return false;                   // lanes read whole runs of narrow words
  if (p.page < p.longest && p.page % c.bn != 0) return false;                    // the keys of a step lie in one page
  if (c.residency * threads_of(c) > d.threads_per_multiprocessor) return false;  // the device's limit
  if (shared_bytes(p, c, sizeof(KV)) > d.shared_memory_per_block) return false;  // the device's limit
  if (c.split > 0 && c.waves > 1) return false;                                  // duplicate
  if (c.cluster && d.compute_capability < 90) return false;                      // clusters
  if (c.cluster && (c.split < 2 || c.split > 16 || (c.split & (c.split - 1)) != 0)) return false;  // the largest one there is
  return c.split == 0 || (c.split - 1) * part_keys(p, c) < p.longest;                              // a part without keys
}

template <class T, class KV>
constexpr bool likely(Problem p, Config c, Device d) {
  if (c.wm > 16 && shared_rows(p) <= 16) return false;      // half of every product is outside
  if (c.wm / 16 * (p.head / 2 + c.bn) > 160) return false;  // spills
  if (c.residency * (shared_bytes(p, c, sizeof(KV)) + 1024) > d.shared_memory_per_multiprocessor) return false;  // so many do not fit
  if (c.residency * threads_of(c) * 152 > d.registers_per_multiprocessor) return false;  // spills: a thread needs more
  if (c.residency * shared_bytes(p, c, sizeof(KV)) < 40 << 10) return false;             // too little is on its way
  if (c.waves > 1 && parts_of(p, c) == 1) return false;                                  // as with one wave
  const long blocks = p.sequences * p.heads * row_tiles(p, c) * c.split;
  // More blocks gain nothing, and partial results cost time; where they need not go through memory, short blocks make a short end.
  if (c.split > 1 && blocks > (c.cluster ? 40 : 16) * d.multiprocessors) return false;
  return c.split == 0 || c.split * 8 >= 33 || blocks * 2 > d.multiprocessors || part_keys(p, c) < 256;  // half of the device would be idle
}

template <class KV>
constexpr Launch launch_decode_mma(Problem p, Config c) {
  return {.grid = {parts_of(p, c), p.heads * row_tiles(p, c), p.sequences},
          .block = {threads_of(c)},
          .cluster = {c.cluster ? c.split : 1},
          .shared = shared_bytes(p, c, sizeof(KV)),
          .overlap = true};
}
constexpr Launch launch_decode_mma_sum(Problem p, Config c) {
  return {.grid = {ceil_div(query_rows(p) * ceil_div(p.head, 64L) * warps_of_row(parts_of(p, c)), (long)kSumWarps)},
          .block = {kSumThreads},
          .enabled = has_parts(p, c),
          .overlap = true};
}

template <class T, class KV>
REFERENCE(query_rows(p))
TOLERANCE(lse, .absolute = 1e-3, .relative = 1e-5) void decode_mma_reference_lse(long row, const T* q, const KV* k, const i32* table,
                                                                                 const i32* lengths, const float* k_scale, double* lse,
                                                                                 float scale, Problem p) {
  lse_at(row, q, k, table, lengths, k_scale, lse, scale, p);
}
// Weights are rounded to T before the product with v.
template <class T, class KV>
REFERENCE(query_rows(p) * p.head / 32)
TOLERANCE(out, .absolute = 0.01, .relative = 0.006) void decode_mma_reference(long i, const T* q, const KV* k, const KV* v,
                                                                              const i32* table, const i32* lengths, const float* k_scale,
                                                                              const float* v_scale, double* out, double* lse, float scale,
                                                                              Problem p) {
  out_at(i, q, k, v, table, lengths, k_scale, v_scale, out, lse, scale, p);
}

SHAPES({.sequences = 3, .heads = 2, .longest = 100, .varied = 90, .page = 16},
       {.sequences = 2, .heads = 1, .queries = 5, .longest = 130, .page = 128},
       {.sequences = 5, .heads = 1, .group = 7, .queries = 3, .longest = 77, .varied = 50, .page = 77},
       {.sequences = 1, .heads = 1, .group = 2, .longest = 200, .varied = 20, .page = 64},
       {.sequences = 2, .heads = 1, .longest = 760, .varied = 90, .page = 64});

#include "part.h"

template <class T, class KV, Config c>
KERNEL DTYPES(T = bf16 | f16, KV = bf16 | f16 | e4m3) LAUNCH_BOUNDS(threads_of(c), c.residency) void decode_mma(
    IN(query_rows(p) * p.head, .normal) const T* __restrict__ q, IN(cache_elements(p), .normal) const KV* __restrict__ k,
    IN(cache_elements(p), .normal) const KV* __restrict__ v, IN(cache_pages(p), .permutation) const i32* __restrict__ table,
    IN(p.sequences, .low = shortest(p), .below = p.longest + 1) const i32* __restrict__ lengths,
    IN(scales_of(p, sizeof(KV)), .low = 0.5, .below = 1.5) const float* __restrict__ k_scale,
    IN(scales_of(p, sizeof(KV)), .low = 0.5, .below = 1.5) const float* __restrict__ v_scale,
    OUT(query_rows(p) * p.head) T* __restrict__ out, OUT(query_rows(p)) float* __restrict__ lse,
    WORKSPACE(has_parts(p, c) ? parts_of(p, c) * query_rows(p) * p.head : 1) float* __restrict__ part_out,
    WORKSPACE(has_parts(p, c) ? parts_of(p, c) * query_rows(p) : 1) float* __restrict__ part_lse, SCALAR(0.25) float scale, Problem p) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  SHARED_DYNAMIC(unsigned char, memory);
  grid_dependency_wait();
  launch_dependents();
  const int heads = (int)p.heads, page_keys = (int)p.page, last_page = ceil_div((int)p.longest, page_keys) - 1;
  const int sequence = blockIdx.z, head = blockIdx.y % heads, tile = blockIdx.y / heads;
  const i32* const pages = table + sequence * (last_page + 1L);
  const int begin = (int)(blockIdx.x * part_keys(p, c)), first = begin + (int)threadIdx.x / 32 * c.bn;
  const int page = pages[min_of(first / page_keys, last_page)], length = lengths[sequence];  // one latency for both
  if (!c.cluster && begin >= length) return;
  const float of_scores = scale * scale_of<KV>(k_scale, head);
  Warp<T, KV, c> warp{p,           memory, power_scale(of_scores), sign_of(of_scores), scale_of<KV>(v_scale, head), sequence, head,
                      tile * c.wm, length};
  warp.start_rows(q);
  warp.run(k, v, pages, page, first, (int)min_of((long)length, begin + part_keys(p, c)));
  warp.join();
  if constexpr (c.cluster) {
    warp.write_with_cluster((int)blockIdx.x, out, lse);
  } else if (c.split > 1 || (c.split == 0 && gridDim.x > 1)) {
    warp.write(part_out + blockIdx.x * query_rows(p) * Problem::head, part_lse + blockIdx.x * query_rows(p));
  } else {
    warp.write(out, lse);
  }
#endif
}

/// Adds up the parts of each row; warps have 64 columns of one.
template <class T, class KV, Config c>
KERNEL LAUNCH_BOUNDS(kSumThreads) void decode_mma_sum(
    IN(p.sequences, .low = shortest(p), .below = p.longest + 1) const i32* __restrict__ lengths,
    OUT(query_rows(p) * p.head) T* __restrict__ out, OUT(query_rows(p)) float* __restrict__ lse,
    WORKSPACE(has_parts(p, c) ? parts_of(p, c) * query_rows(p) * p.head : 1) const float* part_out,
    WORKSPACE(has_parts(p, c) ? parts_of(p, c) * query_rows(p) : 1) const float* part_lse, Problem p) {
  const int most = (int)parts_of(p, c);
  const long rows = query_rows(p), item = (blockIdx.x * (long)kSumWarps + threadIdx.x / 32) / warps_of_row(most);
  constexpr int kShares = (int)ceil_div(Problem::head, 64L);  // of a row
  long row = item / kShares;
  int column = (int)(item % kShares * 64 + threadIdx.x % 32 * 2);
  const int sequence = (int)min_of(row, rows - 1) / (int)(p.queries * query_heads(p));
  hopper::grid_dependency_wait_after(lengths + sequence, part_lse + row);
  launch_dependents();
  const int parts = ceil_div(lengths[sequence], (int)part_keys(p, c));
  if (Problem::head % 64 != 0 && column >= Problem::head) row = rows, column = 0;  // there is no such column
  add_split<T, c.split, (int)Problem::head>(most, parts, rows, row, column, part_out, part_lse, out, lse);
}
