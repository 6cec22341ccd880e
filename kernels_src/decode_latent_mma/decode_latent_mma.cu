// Decoding over a latent cache (multi-head latent attention) on tensor cores (mma): out = softmax(scale * q cache^T) values for each
// sequence and head; lse is the logarithm of the sum of exponentials.
#include <hone/kernel.h>
#include <hone/kernel_hopper.h>

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
  TUNE(0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128)
  int split = 0;                 // parts of the longest sequence: more blocks, and a second pass; 0: by the shape
  TUNE(1, 2, 4) int waves = 1;   // by the shape: so many waves of blocks, each with a part
  TUNE(1, 2) int residency = 1;  // blocks on a multiprocessor, for which registers are left
};

HONE_BOTH constexpr long rows_of_block(const Config& c) { return c.wm; }
HONE_BOTH constexpr long cluster_of(const Config&) { return 1; }
HONE_BOTH constexpr long residency_of(const Config& c) { return c.residency; }
#include "../decode_latent.h"

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
  if (c.split > 0 && c.waves > 1) return false;                                  // duplicate
  return c.split == 0 || (c.split - 1) * part_keys(p, c) < p.longest;            // a part without keys
}

template <class T>
constexpr bool likely(Problem p, Config c, Device d) {
  if (c.wm > 16 && c.wm >= 2 * rows_of_sequence(p)) return false;                                    // half of every product is outside
  if (c.wm / 16 * (p.latent / c.warps / 2 + c.bn / c.warps / 2) > 150) return false;                 // spills
  if (c.residency * (shared_bytes(p, c) + 1024) > d.shared_memory_per_multiprocessor) return false;  // so many do not fit
  if (c.residency * threads_of(c) * 128 > d.registers_per_multiprocessor) return false;              // spills
  if (c.waves > 1 && parts_of(p, c) == 1) return false;                                              // as with one wave
  const long blocks = p.sequences * tiles_of_sequence(p, c) * c.split;
  if (c.split > 1 && blocks > 8 * d.multiprocessors) return false;  // more blocks gain nothing, and partial results cost time
  return c.split == 0 || c.split * 8 >= 64 || blocks * 2 > d.multiprocessors || part_keys(p, c) < 256;  // half of the device would be idle
}

constexpr Launch launch_decode_latent_mma(Problem p, Config c) {
  return {.grid = {parts_of(p, c), tiles_of_sequence(p, c), p.sequences},
          .block = {threads_of(c)},
          .shared = shared_bytes(p, c),
          .overlap = true};
}
constexpr Launch launch_decode_latent_mma_sum(Problem p, Config c) {
  return {.grid = {ceil_div(query_rows(p) * (p.latent / 64) * warps_of_row(parts_of(p, c)), (long)kSumWarps)},
          .block = {kSumThreads},
          .enabled = parts_of(p, c) > 1,
          .overlap = true};
}

template <class T>
REFERENCE(query_rows(p))
TOLERANCE(lse, .absolute = 1e-3, .relative = 1e-5) void decode_latent_mma_reference_lse(long row, const T* q, const T* cache,
                                                                                        const i32* table, const i32* lengths, double* lse,
                                                                                        float scale, Problem p) {
  lse_at(row, q, cache, table, lengths, lse, scale, p);
}
// Weights are rounded to T before the product with values.
template <class T>
REFERENCE(query_rows(p) * p.latent / 64)
TOLERANCE(out, .absolute = 0.01, .relative = 0.006) void decode_latent_mma_reference(long i, const T* q, const T* cache, const i32* table,
                                                                                     const i32* lengths, double* out, double* lse,
                                                                                     float scale, Problem p) {
  out_at(i, q, cache, table, lengths, out, lse, scale, p);
}

SHAPES({.sequences = 3, .heads = 5, .longest = 100, .varied = 90, .page = 64},
       {.sequences = 2, .heads = 3, .queries = 5, .longest = 130, .page = 130},
       {.sequences = 1, .heads = 20, .queries = 2, .longest = 200, .varied = 20, .page = 64},
       {.sequences = 2, .heads = 1, .longest = 760, .varied = 90, .page = 64},
       {.sequences = 2, .heads = 3, .longest = 150, .varied = 50, .page = 16},
       {.sequences = 1, .heads = 2, .queries = 3, .longest = 200, .page = 48});

#include "part.h"

template <class T, Config c>
KERNEL DTYPES(bf16, f16) LAUNCH_BOUNDS(threads_of(c), c.residency) void decode_latent_mma(
    IN(query_rows(p) * (p.latent + p.rope), .normal) const T* __restrict__ q,
    IN(cache_pages(p) * p.page * (p.latent + p.rope), .normal) const T* __restrict__ cache,
    IN(cache_pages(p), .permutation) const i32* __restrict__ table,
    IN(p.sequences, .low = shortest(p), .below = p.longest + 1) const i32* __restrict__ lengths,
    OUT(query_rows(p) * p.latent) T* __restrict__ out, OUT(query_rows(p)) float* __restrict__ lse,
    WORKSPACE(parts_of(p, c) > 1 ? parts_of(p, c) * query_rows(p) * p.latent : 1) float* __restrict__ part_out,
    WORKSPACE(parts_of(p, c) > 1 ? parts_of(p, c) * query_rows(p) : 1) float* __restrict__ part_lse, SCALAR(0.125) float scale, Problem p) {
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
  if (c.split > 1 || (c.split == 0 && gridDim.x > 1)) {
    block.write(part_out + blockIdx.x * query_rows(p) * Problem::latent, part_lse + blockIdx.x * query_rows(p));
  } else {
    block.write(out, lse);
  }
#endif
}

/// Adds up the parts of each row; warps have 64 columns of one.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(kSumThreads) void decode_latent_mma_sum(
    IN(p.sequences, .low = shortest(p), .below = p.longest + 1) const i32* __restrict__ lengths,
    OUT(query_rows(p) * p.latent) T* __restrict__ out, OUT(query_rows(p)) float* __restrict__ lse,
    WORKSPACE(parts_of(p, c) > 1 ? parts_of(p, c) * query_rows(p) * p.latent : 1) const float* part_out,
    WORKSPACE(parts_of(p, c) > 1 ? parts_of(p, c) * query_rows(p) : 1) const float* part_lse, Problem p) {
  add_latent_parts<T, c>(lengths, out, lse, part_out, part_lse, p);
}
