// Decoding over a latent cache (multi-head latent attention): all heads of q share one line of the cache for each token. A key is the whole
// line, latent and rotated part; a value is its latent part. The cache lies in pages: table[sequence, page of the sequence] is the page of
// [pages, page, latent + rope]. lse is the logarithm of the sum of exponentials.
#include <hone/kernel.h>
#include <hone/kernel_hopper.h>

#include "../decode_parts.h"

struct Problem {
  long sequences = 32;
  long heads = 16;                // heads of q
  RANGE(1, 8) long queries = 1;   // tokens of q for each sequence: its last ones
  long longest = 4096;            // tokens of the longest sequence
  RANGE(0, 100) long varied = 0;  // percent by which the shortest sequence is shorter; lengths are drawn from between
  long page = 64;                 // tokens of a page; from `longest` on, the cache is contiguous
  RANGE(64, 512) STATIC long latent = 512;
  RANGE(0, 64) STATIC long rope = 64;
};

// A block has some rows of q, of all tokens and heads, and a part of a sequence's keys. In a step, each warp computes the scores of its own
// keys; then, for all keys, the sums of its own columns.
struct Config {
  TUNE(4, 8) int warps = 8;      // of a block
  TUNE(16, 32, 64) int wm = 16;  // rows of q of a block: they share what is loaded
  TUNE(32, 64) int bn = 64;      // keys of a step
  TUNE(2, 3, 4) int stages = 2;  // steps in shared memory
  TUNE(1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128)
  int split = 1;                 // parts of the longest sequence: more blocks, and a second pass
  TUNE(1, 2) int residency = 1;  // blocks on a multiprocessor, for which registers are left
};

constexpr long kLineOfCache = Problem::latent + Problem::rope;  // elements

HONE_BOTH constexpr long rows_of_sequence(Problem p) { return p.queries * p.heads; }
HONE_BOTH constexpr long query_rows(Problem p) { return p.sequences * rows_of_sequence(p); }
HONE_BOTH constexpr long pages_of_sequence(Problem p) { return ceil_div(p.longest, p.page); }
constexpr long cache_pages(Problem p) { return p.sequences * pages_of_sequence(p); }
constexpr long shortest(Problem p) { return p.longest - (p.longest - p.queries) * p.varied / 100; }
HONE_BOTH constexpr long part_keys(Problem p, const Config& c) { return round_up(ceil_div(p.longest, (long)c.split), (long)c.bn); }

HONE_BOTH constexpr int threads_of(const Config& c) { return c.warps * 32; }
HONE_BOTH constexpr long q_bytes(const Config& c) { return c.wm * kLineOfCache * 2; }
HONE_BOTH constexpr long stage_bytes(const Config& c) { return c.bn * kLineOfCache * 2; }
HONE_BOTH constexpr long weights_bytes(const Config& c) { return c.wm * c.bn * 2; }
/// q, stages, weights, and a float of each warp and row.
constexpr long shared_bytes(Problem p, Config c) {
  return (c.wm + c.stages * c.bn) * (p.latent + p.rope) * 2 + c.wm * c.bn * 2 + c.warps * c.wm * 4;
}

template <class T>
constexpr bool valid(Problem p, Config c, Device d) {
  if (p.longest < p.queries) return false;                                       // queries without keys
  if (d.compute_capability < 80) return false;                                   // mma of bf16 and cp.async
  if (p.latent % 64 != 0 || p.rope % 64 != 0) return false;                      // lines of whole runs of 128 bytes
  if (p.latent % (c.warps * 16) != 0) return false;                              // columns of a warp
  if (c.bn % (c.warps * 8) != 0) return false;                                   // keys of a warp
  if (c.residency * threads_of(c) > d.threads_per_multiprocessor) return false;  // the device's limit
  if (shared_bytes(p, c) > d.shared_memory_per_block) return false;              // the device's limit
  return c.split == 1 || (c.split - 1) * part_keys(p, c) < p.longest;            // a part without keys
}

template <class T>
constexpr bool likely(Problem p, Config c, Device d) {
  if (c.wm > 16 && c.wm >= 2 * rows_of_sequence(p)) return false;                                    // half of every product is outside
  if (c.wm / 16 * (p.latent / c.warps / 2 + c.bn / c.warps / 2) > 150) return false;                 // spills
  if (c.residency * (shared_bytes(p, c) + 1024) > d.shared_memory_per_multiprocessor) return false;  // so many do not fit
  if (c.residency * threads_of(c) * 128 > d.registers_per_multiprocessor) return false;              // spills
  const long blocks = p.sequences * ceil_div(rows_of_sequence(p), (long)c.wm) * c.split;
  if (c.split > 1 && blocks > 8 * d.multiprocessors) return false;  // more blocks gain nothing, and partial results cost time
  return c.split * 8 >= 64 || blocks * 2 > d.multiprocessors || part_keys(p, c) < 256;  // half of the device would be idle
}

constexpr Launch launch_decode_latent(Problem p, Config c) {
  return {.grid = {c.split, ceil_div(rows_of_sequence(p), (long)c.wm), p.sequences},
          .block = {threads_of(c)},
          .shared = shared_bytes(p, c),
          .overlap = true};
}
constexpr Launch launch_decode_latent_sum(Problem p, Config c) {
  return {.grid = {ceil_div(query_rows(p) * (p.latent / 64) * warps_of_row(c.split), (long)kSumWarps)},
          .block = {kSumThreads},
          .enabled = c.split > 1,
          .overlap = true};
}

template <class T>
constexpr Cost cost(Problem p) {
  const double keys = 0.5 * p.sequences * (p.longest + shortest(p));  // in the mean
  return {.flops = 2.0 * keys * rows_of_sequence(p) * (2 * p.latent + p.rope),
          .bytes = sizeof(T) * (keys * (p.latent + p.rope) + query_rows(p) * (2.0 * p.latent + p.rope)),
          .sum_length = 1.0 * p.longest};
}

/// The line of a key in the cache.
HONE_DEVICE long cache_line(Problem p, const i32* table, long sequence, long key) {
  return table[sequence * pages_of_sequence(p) + key / p.page] * p.page + key % p.page;
}
/// The end of the keys that row number `row` of its sequence sees.
HONE_DEVICE long end_of_row(Problem p, int row, long length) { return length - p.queries + row / (int)p.heads + 1; }
template <class T>
HONE_DEVICE double score_of(const T* q, const T* line) {
  double sum = 0;
  for (int e = 0; e < kLineOfCache; ++e) sum += (float)q[e] * (float)line[e];
  return sum;
}

template <class T>
REFERENCE(query_rows(p))
TOLERANCE(lse, .absolute = 1e-3, .relative = 1e-5) void decode_latent_reference_lse(long row, const T* q, const T* cache, const i32* table,
                                                                                    const i32* lengths, double* lse, float scale,
                                                                                    Problem p) {
  const long sequence = row / rows_of_sequence(p), end = end_of_row(p, (int)(row % rows_of_sequence(p)), lengths[sequence]);
  double most = -1e300, sum = 0;
  for (long key = 0; key < end; ++key) {
    const double score = scale * score_of(q + row * kLineOfCache, cache + cache_line(p, table, sequence, key) * kLineOfCache);
    if (score > most) {
      sum *= exp(most - score);
      most = score;
    }
    sum += exp(score - most);
  }
  lse[row] = most + log(sum);
}
// Weights are rounded to T before the product with values.
constexpr long kShare = 64;
template <class T>
REFERENCE(query_rows(p) * p.latent / 64)
TOLERANCE(out, .absolute = 0.01, .relative = 0.006) void decode_latent_reference(long i, const T* q, const T* cache, const i32* table,
                                                                                 const i32* lengths, double* out, double* lse, float scale,
                                                                                 Problem p) {
  const long row = i / (Problem::latent / kShare), first = i % (Problem::latent / kShare) * kShare;
  const long sequence = row / rows_of_sequence(p), end = end_of_row(p, (int)(row % rows_of_sequence(p)), lengths[sequence]);
  double sums[kShare] = {};
  for (long key = 0; key < end; ++key) {
    const T* const line = cache + cache_line(p, table, sequence, key) * kLineOfCache;
    const double weight = exp(scale * score_of(q + row * kLineOfCache, line) - lse[row]);
    for (int e = 0; e < kShare; ++e) sums[e] += weight * (float)line[first + e];
  }
  for (int e = 0; e < kShare; ++e) out[row * Problem::latent + first + e] = sums[e];
}

SHAPES({.sequences = 3, .heads = 5, .longest = 100, .varied = 90, .page = 64},
       {.sequences = 2, .heads = 3, .queries = 5, .longest = 130, .page = 130},
       {.sequences = 1, .heads = 20, .queries = 2, .longest = 200, .varied = 20, .page = 64},
       {.sequences = 2, .heads = 1, .longest = 760, .varied = 90, .page = 64},
       {.sequences = 2, .heads = 3, .longest = 150, .varied = 50, .page = 16},
       {.sequences = 1, .heads = 2, .queries = 3, .longest = 200, .page = 48});

#include "part.h"

template <class T, Config c>
KERNEL DTYPES(bf16, f16) LAUNCH_BOUNDS(threads_of(c), c.residency) void decode_latent(
    IN(query_rows(p) * (p.latent + p.rope), .normal) const T* __restrict__ q,
    IN(cache_pages(p) * p.page * (p.latent + p.rope), .normal) const T* __restrict__ cache,
    IN(cache_pages(p), .permutation) const i32* __restrict__ table,
    IN(p.sequences, .low = shortest(p), .below = p.longest + 1) const i32* __restrict__ lengths,
    OUT(query_rows(p) * p.latent) T* __restrict__ out, OUT(query_rows(p)) float* __restrict__ lse,
    WORKSPACE(c.split > 1 ? c.split * query_rows(p) * p.latent : 1) float* __restrict__ part_out,
    WORKSPACE(c.split > 1 ? c.split * query_rows(p) : 1) float* __restrict__ part_lse, SCALAR(0.125) float scale, Problem p) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  SHARED_DYNAMIC(unsigned char, memory);
  grid_dependency_wait();
  launch_dependents();
  const int page_keys = (int)p.page;
  const long sequence = blockIdx.z;
  const i32* const pages = table + sequence * ceil_div((int)p.longest, page_keys);
  const int begin = (int)(blockIdx.x * part_keys(p, c));
  const int page = pages[begin / page_keys], length = lengths[sequence];  // one latency for both
  if (begin >= length) return;
  Block<T, c> block{p, memory, power_scale(scale), sign_of(scale), sequence, (long)blockIdx.y * c.wm, length};
  block.start_rows(q);
  block.run(cache, pages, page, begin, (int)min_of((long)length, begin + part_keys(p, c)));
  if constexpr (c.split == 1) {
    block.write(out, lse);
  } else {
    block.write(part_out + blockIdx.x * query_rows(p) * Problem::latent, part_lse + blockIdx.x * query_rows(p));
  }
#endif
}

/// Adds up the parts of each row; warps have 64 columns of one.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(kSumThreads) void decode_latent_sum(
    IN(p.sequences, .low = shortest(p), .below = p.longest + 1) const i32* __restrict__ lengths,
    OUT(query_rows(p) * p.latent) T* __restrict__ out, OUT(query_rows(p)) float* __restrict__ lse,
    WORKSPACE(c.split > 1 ? c.split * query_rows(p) * p.latent : 1) const float* part_out,
    WORKSPACE(c.split > 1 ? c.split * query_rows(p) : 1) const float* part_lse, Problem p) {
  const long rows = query_rows(p), item = (blockIdx.x * (long)kSumWarps + threadIdx.x / 32) / warps_of_row(c.split);
  const long row = item / (Problem::latent / 64);
  const int column = (int)(item % (Problem::latent / 64) * 64 + threadIdx.x % 32 * 2);
  const int sequence = (int)min_of(row, rows - 1) / (int)rows_of_sequence(p);
  hopper::grid_dependency_wait_after(lengths + sequence, part_lse + row);
  launch_dependents();
  const int parts = ceil_div(lengths[sequence], (int)part_keys(p, c));
  add_parts<T, c.split, (int)Problem::latent>(parts, rows, row, column, part_out, part_lse, out, lse);
}
