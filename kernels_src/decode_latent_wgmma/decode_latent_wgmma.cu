// Decoding over a latent cache on Hopper's tensor cores (wgmma): out = softmax(scale * q cache^T) values for each sequence
// and head; lse is the logarithm of the sum of exponentials.
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

// A block has 64 rows of q, of all tokens and heads, and a part of a sequence's keys. Two warpgroups take turns: each computes the scores
// of every second step of keys, and for all steps the sums of its half of the columns, by weights that they pass to each other. A warp
// loads steps by TMA ahead of them.
struct Config {
  TUNE(64, 128) int bn = 64;     // keys of a step
  TUNE(2, 3, 4) int stages = 2;  // steps in shared memory
  TUNE(0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128)
  int split = 0;                // parts of the longest sequence: more blocks, and a second pass; 0: by the shape
  TUNE(1, 2, 4) int waves = 1;  // by the shape: so many waves of blocks, each with a part
  TUNE(1, 2) int cluster = 1;   // blocks with the same keys and neighbouring rows: each loads a part of each step for both (multicast)
  TUNE(-1, 8) int lazy = -1;    // sums are rescaled where scores exceed the largest before by more than this power of two; -1: always
};
constexpr int kRows = 64, kThreads = 3 * 128;  // of a block
HONE_BOTH constexpr long rows_of_block(const Config&) { return kRows; }
HONE_BOTH constexpr long cluster_of(const Config& c) { return c.cluster; }
HONE_BOTH constexpr long residency_of(const Config&) { return 1; }
#include "../decode_latent.h"

constexpr int kPanel = 64, kPanelLine = 128;  // columns of a panel of shared memory, and bytes of its lines
constexpr int kValuePanels = (int)Problem::latent / kPanel, kPanels = (int)kLineOfCache / kPanel;

HONE_BOTH constexpr long q_bytes() { return kRows * kLineOfCache * 2; }
HONE_BOTH constexpr long panel_bytes(const Config& c) { return c.bn * kPanelLine; }
HONE_BOTH constexpr long stage_bytes(const Config& c) { return c.bn * kLineOfCache * 2; }
/// What a warpgroup passes to the other one: weights of a step and the largest score of each row.
HONE_BOTH constexpr long passed_bytes(const Config& c) { return 128 * (c.bn + 8); }
constexpr long shared_bytes(Problem p, Config c) {
  return 1024 + (kRows + c.stages * c.bn) * (p.latent + p.rope) * 2 + passed_bytes(c) + 8 * (9 + c.stages * ((p.latent + p.rope) / 64 + 2));
}
/// Lines that one copy loads: of one page, a power of two. A copy must not reach beyond its page, behind which there may be no memory.
HONE_BOTH constexpr long lines_of_copy(Problem p, const Config& c) {
  const long share = c.bn / c.cluster;
  if (p.page % share == 0) return share;
  if (share > 64 && p.page % 64 == 0) return 64;
  if (share > 32 && p.page % 32 == 0) return 32;
  if (p.page % 16 == 0) return 16;
  return p.page % 8 == 0 ? 8 : 1;
}
/// Of the tensor map: a cache may have more pages than the table names, and copies read what it names alone.
constexpr long kCacheLines = 2000000000;

template <class T>
constexpr bool valid(Problem p, Config c, Device d) {
  if (p.longest < p.queries) return false;                             // queries without keys
  if (d.compute_capability != 90) return false;                        // wgmma: Hopper alone
  if (p.latent % 128 != 0 || p.rope % kPanel != 0) return false;       // whole panels for each warpgroup
  if (p.latent / 4 + c.bn / 2 + c.bn / 2 + 24 > 232) return false;     // sums, scores and two steps' weights must be in registers
  if (shared_bytes(p, c) > d.shared_memory_per_block) return false;    // the device's limit
  if (c.split > 0 && c.waves > 1) return false;                        // duplicate
  if (lines_of_copy(p, c) % 8 != 0) return false;                      // eight lines are swizzled together
  if (cache_pages(p) * p.page > kCacheLines) return false;             // coordinates have 32 bits
  return c.split == 0 || (c.split - 1) * part_keys(p, c) < p.longest;  // a part without keys
}

template <class T>
constexpr bool likely(Problem p, Config c, Device d) {
  if (c.cluster > 1 && tiles_of_sequence(p, c) * kRows >= rows_of_sequence(p) + kRows) return false;  // a block without rows
  if (c.waves > 1 && parts_of(p, c) == 1) return false;                                               // as with one wave
  const long blocks = p.sequences * tiles_of_sequence(p, c) * c.split;
  if (c.split > 1 && blocks > 8 * d.multiprocessors) return false;  // more blocks gain nothing, and partial results cost time
  return c.split == 0 || c.split * 8 >= 64 || blocks * 2 > d.multiprocessors || part_keys(p, c) < 256;  // half of the device would be idle
}

constexpr Launch launch_decode_latent_wgmma(Problem p, Config c) {
  return {.grid = {parts_of(p, c), tiles_of_sequence(p, c), p.sequences},
          .block = {kThreads},
          .cluster = {1, c.cluster},
          .shared = shared_bytes(p, c),
          .overlap = true};
}
constexpr Launch launch_decode_latent_wgmma_sum(Problem p, Config c) {
  return {.grid = {ceil_div(query_rows(p) * (p.latent / 64) * warps_of_row(parts_of(p, c)), (long)kSumWarps)},
          .block = {kSumThreads},
          .enabled = parts_of(p, c) > 1,
          .overlap = true};
}

template <class T>
REFERENCE(query_rows(p))
TOLERANCE(lse, .absolute = 1e-3, .relative = 1e-5) void decode_latent_wgmma_reference_lse(long row, const T* q, const T* cache,
                                                                                          const i32* table, const i32* lengths, double* lse,
                                                                                          float scale, Problem p) {
  lse_at(row, q, cache, table, lengths, lse, scale, p);
}
// Weights are rounded to T before the product with values.
template <class T>
REFERENCE(query_rows(p) * p.latent / 64)
TOLERANCE(out, .absolute = 0.01, .relative = 0.006) void decode_latent_wgmma_reference(long i, const T* q, const T* cache, const i32* table,
                                                                                       const i32* lengths, double* out, double* lse,
                                                                                       float scale, Problem p) {
  out_at(i, q, cache, table, lengths, out, lse, scale, p);
}

SHAPES({.sequences = 3, .heads = 70, .longest = 300, .varied = 90, .page = 64},
       {.sequences = 2, .heads = 33, .queries = 5, .longest = 130, .page = 136},
       {.sequences = 1, .heads = 128, .queries = 2, .longest = 500, .varied = 20, .page = 64},
       {.sequences = 2, .heads = 64, .longest = 760, .varied = 90, .page = 16},
       {.sequences = 2, .heads = 3, .queries = 3, .longest = 150, .varied = 50, .page = 48});

#include "consumer.h"
#include "producer.h"

template <class T, Config c>
KERNEL DTYPES(bf16, f16) LAUNCH_BOUNDS(kThreads, 1) void decode_latent_wgmma(
    IN(query_rows(p) * (p.latent + p.rope), .normal) const T* __restrict__ q,
    IN(cache_pages(p) * p.page * (p.latent + p.rope), .normal) const T* __restrict__ cache,
    IN(cache_pages(p), .permutation) const i32* __restrict__ table,
    IN(p.sequences, .low = shortest(p), .below = p.longest + 1) const i32* __restrict__ lengths,
    OUT(query_rows(p) * p.latent) T* __restrict__ out, OUT(query_rows(p)) float* __restrict__ lse,
    WORKSPACE(parts_of(p, c) > 1 ? parts_of(p, c) * query_rows(p) * p.latent : 1) float* __restrict__ part_out,
    WORKSPACE(parts_of(p, c) > 1 ? parts_of(p, c) * query_rows(p) : 1) float* __restrict__ part_lse,
    TENSOR_MAP(q, .size = {p.latent + p.rope, query_rows(p)}, .box = {kPanel, kRows}, .swizzle = 128)
        const __grid_constant__ TensorMap q_map,
    TENSOR_MAP(cache, .size = {p.latent + p.rope, kCacheLines}, .box = {kPanel, lines_of_copy(p, c)}, .swizzle = 128)
        const __grid_constant__ TensorMap cache_map,
    SCALAR(0.125) float scale, Problem p) {
#if defined(HONE_HOPPER)
  SHARED_DYNAMIC(unsigned char, memory);
  const SharedLayout<c> layout(memory);
  if (threadIdx.x == 0) {
    hopper::prefetch_tensor_map(q_map);
    hopper::prefetch_tensor_map(cache_map);
    init_barriers(layout);
  }
  if constexpr (c.cluster > 1) {
    hopper::cluster_sync();
  } else {
    __syncthreads();
  }
  grid_dependency_wait();
  launch_dependents();
  const long sequence = blockIdx.z;
  // Numbers that all threads have alike, and the compiler is to know: products in loops that threads could leave one by one are serialized.
  const int length = __shfl_sync(0xffffffffu, lengths[sequence], 0);
  const int begin = (int)(blockIdx.x * part_keys(p, c)), end = (int)min_of((long)length, begin + part_keys(p, c));
  if (begin < length) {
    const int first_row = (int)blockIdx.y * kRows, group = __shfl_sync(0xffffffffu, (int)threadIdx.x / 128 - 1, 0);
    if (group < 0) {
      hopper::setmaxnreg_dec<40>();
      if (threadIdx.x < 32)
        Producer<c>{q_map, cache_map, table + sequence * pages_of_sequence(p), p, layout}.run(sequence, first_row, begin, end);
    } else {
      hopper::setmaxnreg_inc<232>();
      Consumer<T, c> consumer{p, layout, group, (int)threadIdx.x % 128, power_scale(scale), sign_of(scale), first_row, length};
      consumer.run(begin, end);
      if (c.split > 1 || (c.split == 0 && gridDim.x > 1)) {
        consumer.write(sequence, part_out + blockIdx.x * query_rows(p) * Problem::latent, part_lse + blockIdx.x * query_rows(p));
      } else {
        consumer.write(sequence, out, lse);
      }
    }
  }
  if constexpr (c.cluster > 1) {  // a block must not end while the other one accesses its shared memory
    __syncwarp();
    hopper::cluster_sync();
  }
#endif
}

/// Adds up the parts of each row; warps have 64 columns of one.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(kSumThreads) void decode_latent_wgmma_sum(
    IN(p.sequences, .low = shortest(p), .below = p.longest + 1) const i32* __restrict__ lengths,
    OUT(query_rows(p) * p.latent) T* __restrict__ out, OUT(query_rows(p)) float* __restrict__ lse,
    WORKSPACE(parts_of(p, c) > 1 ? parts_of(p, c) * query_rows(p) * p.latent : 1) const float* part_out,
    WORKSPACE(parts_of(p, c) > 1 ? parts_of(p, c) * query_rows(p) : 1) const float* part_lse, Problem p) {
  add_latent_parts<T, c>(lengths, out, lse, part_out, part_lse, p);
}
