// Attention on Hopper's tensor cores (wgmma): out = softmax(scale * q k^T) v for each sequence and head, over the keys that a query sees;
// lse is the logarithm of the sum of exponentials.
#include <hone/kernel.h>
#include <hone/kernel_hopper.h>

struct Problem {
  long batch = 4;                            // sequences
  long heads = 32;                           // heads of k and v
  long group = 1;                            // heads of q that share one of k and v
  long queries = 4096, keys = 4096;          // tokens of a sequence (packed: of all together): of q and out; of k and v
  RANGE(32, 512) STATIC long head = 128;     // elements of a head of q and k: multiples of 32
  RANGE(0, 512) STATIC long value_head = 0;  // elements of a head of v and out, as well; 0: as many
  STATIC bool causal = true;                 // a query sees no keys behind it; the last query is beside the last key
  RANGE(0) long window = 0;                  // keys that a query sees up to its own, and from it on: itself and those near; 0: all
  RANGE(1, 2) STATIC long layout = 1;        // of q, k, v and out: 1 [batch, tokens, heads, head], 2 [batch, heads, tokens, head]
  STATIC bool packed = false;                // sequences differ in length: they lie one after another, in layout 1
  RANGE(0, 100) long varied = 0;             // percent by which lengths differ from their mean in inputs that are made for packed sequences
};

// Warp-specialized blocks: consumer warpgroups (128 threads) have 64 queries each; one thread of the producer warpgroup loads blocks of
// keys and values by TMA ahead of them. Products of one block of keys run while the one before is weighed.
struct Config {
  TUNE(1, 2, 3) int consumers = 2;  // warpgroups of 64 queries: they share what is loaded, and the registers
  TUNE(64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224) int bn = 128;  // keys of a block: larger ones rescale and synchronize less often
  TUNE(2, 3, 4) int stages = 2;                                           // blocks of keys, and of values, in shared memory
  TUNE(1, 2) int q_stages = 1;              // tiles of queries in shared memory: with two, the next one is there when its turn comes
  TUNE(false, true) bool pingpong = false;  // consumers take turns: one multiplies while others weigh
  TUNE(0, 1, 2) int schedule = 2;  // 0 a block of threads for each tile; persistent blocks that 1 deal tiles out, 2 take the next one
  TUNE(1, 2) int cluster = 1;      // blocks with neighbouring tiles of a head: each loads a part of keys and values for both (multicast)
  TUNE(1, 2, 4, 8, 16, 32) int raster = 16;  // heads that run side by side, so that their keys and values stay in L2
  TUNE(-1, 8) int lazy = -1;  // sums are rescaled where scores exceed the largest before by more than this power of two; -1: always
  TUNE(0, 1, 2, 3, 4) int by_fma = 0;  // of eight exponentials, those that multiply-adds compute instead of the special-function unit
};
#include "../attention.h"

constexpr int kOperandBytes = 2;  // of an element of q, k and v
/// Elements of a head in shared memory, which lie in panels of 64: copies fill the last one with zeros.
HONE_BOTH constexpr long padded_head() { return round_up(Problem::head, 64L); }
HONE_BOTH constexpr long padded_head_of_values() { return round_up(head_of_values(), 64L); }
HONE_BOTH constexpr int lazy_of(const Config& c) { return c.lazy; }
HONE_BOTH constexpr long transposed_bytes(const Config&) { return 0; }
HONE_BOTH constexpr int rows_of(const Config& c) { return 64 * c.consumers; }
HONE_BOTH constexpr int threads_of(const Config& c) { return 128 * (c.consumers + 1); }
HONE_BOTH constexpr long q_bytes(const Config& c) { return rows_of(c) * padded_head() * 2; }
HONE_BOTH constexpr long stage_bytes(const Config& c) { return c.bn * padded_head() * 2; }  // of keys
HONE_BOTH constexpr long value_stage_bytes(const Config& c) { return c.bn * padded_head_of_values() * 2; }
constexpr long shared_bytes(Problem p, Config c) {
  return 1024 + (rows_of(c) * c.q_stages + c.stages * c.bn) * padded_head() * 2 + c.stages * c.bn * padded_head_of_values() * 2 + 8 +
         24 * c.q_stages + 32 * c.stages;
}
/// Registers of a consumer's thread: what all have is 65536; the producer keeps 40 or 32.
HONE_BOTH constexpr int registers_of(const Config& c) { return c.consumers == 3 ? 160 : 232; }
/// Scores, sums and rounded weights.
constexpr long held_registers(Problem, Config c) { return c.bn / 2 + head_of_values() / 2 + c.bn / 4; }
/// Tiles of a cluster of blocks: one under another.
HONE_BOTH constexpr long tiles_of_head(Problem p, const Config& c) { return tile_places(p, (long)rows_of(c) * c.cluster); }
HONE_BOTH constexpr long tiles_of(Problem p, const Config& c) { return lines_of(p) * query_heads(p) * tiles_of_head(p, c); }
/// Clusters that run at once.
constexpr long clusters_of(Config c, Device d) { return d.multiprocessors / c.cluster; }

template <class T>
constexpr bool valid(Problem p, Config c, Device d) {
  if (p.packed && p.layout != 1) return false;                       // tokens are the outer axis
  if (!has_answer(p)) return false;                                  // queries without keys
  if (d.compute_capability != 90) return false;                      // wgmma: Hopper alone
  if (p.head % 32 != 0 || p.head > 256) return false;                // the answer is computed in shares of 32; a product has at most 256
  if (p.value_head % 32 != 0 || p.value_head > 256) return false;    // the same
  if (held_registers(p, c) + 16 > registers_of(c)) return false;     // sums of products under way must be in registers
  if (shared_bytes(p, c) > d.shared_memory_per_block) return false;  // the device's limit
  if (tiles_of(p, c) > 2000000000) return false;                     // tiles are counted in 32 bits
  if (c.pingpong && c.consumers == 1) return false;                  // there is no other one
  if (c.cluster > 1 && c.schedule == 2) return false;                // blocks take tiles alone
  if (c.schedule == 0 && c.q_stages > 1) return false;               // duplicate: each block has one tile
  return c.schedule == 0 || tiles_of(p, c) > clusters_of(c, d);      // duplicate: each block has one tile
}

// Learned on an H200 in November 2026, in bf16, beside each other at its limit of power.
template <class T>
constexpr bool likely(Problem p, Config c, Device d) {
  if (held_registers(p, c) + 40 > registers_of(c)) return false;                  // spills: addresses and the state of rows need some, too
  if (c.consumers == 1 && queries_of_sequence(p) > 64) return false;              // nothing shares what is loaded
  if (rows_of(c) > 64 && rows_of(c) >= 2 * queries_of_sequence(p)) return false;  // more than half of every tile is outside
  if (c.bn < 112 && max_of(p.head, head_of_values()) <= 128 && c.consumers == 2)
    return false;                                                       // 112 was 2 to 5 % behind 128: wider blocks synchronize less often
  if (c.bn > 64 && c.bn >= 2 * keys_of_sequence(p)) return false;       // more than half of the block is outside
  if (c.cluster > 1 && p.head <= 128) return false;                     // 3 % behind: L2 serves what blocks share
  if (c.by_fma > 2) return false;                                       // multiply-adds become the limit
  return c.raster == 1 || c.raster < 2 * lines_of(p) * query_heads(p);  // the same order as with a smaller one
}

constexpr Launch launch(Problem p, Config c, Device d) {
  return {.grid = {(c.schedule == 0 ? tiles_of(p, c) : min_of(tiles_of(p, c), clusters_of(c, d))) * c.cluster},
          .block = {threads_of(c)},
          .cluster = {c.cluster},
          .shared = shared_bytes(p, c)};
}

template <class T>
REFERENCE(query_rows(p))
TOLERANCE(lse, .absolute = 1e-3, .relative = 1e-5) void attention_wgmma_reference_lse(long row, const T* q, const T* k, const i32* q_starts,
                                                                                      const i32* k_starts, double* lse, float scale,
                                                                                      Problem p) {
  lse[row] = lse_of(row, q, k, q_starts, k_starts, scale, p);
}
// Weights are rounded to T before the product with v.
template <class T>
REFERENCE(query_rows(p) * head_of_values() / 32)
TOLERANCE(out, .absolute = 0.01, .relative = 0.006) void attention_wgmma_reference(long i, const T* q, const T* k, const T* v,
                                                                                   const i32* q_starts, const i32* k_starts, double* out,
                                                                                   double* lse, float scale, Problem p) {
  out_at(i, q, k, v, q_starts, k_starts, out, lse, scale, p);
}

SHAPES({.batch = 1, .heads = 1, .group = 2, .queries = 129, .keys = 193}, {.batch = 2, .heads = 2, .queries = 5, .keys = 5},
       {.batch = 1, .heads = 1, .queries = 65, .keys = 300, .window = 70},
       {.batch = 5, .heads = 1, .queries = 200, .keys = 260, .varied = 100},
       {.batch = 12, .heads = 1, .queries = 10, .keys = 12, .varied = 100},
       {.batch = 3, .heads = 1, .queries = 150, .keys = 210, .window = 30, .varied = 100});

// ---- the kernel
// ---------------------------------------------------------------------------------------------------------------------------
#include "consumer.h"
#include "producer.h"

// The tensor maps' axes: elements of a head, heads, tokens, sequences; or, in layout 2, tokens before heads.
template <class T, Config c>
KERNEL DTYPES(bf16, f16) LAUNCH_BOUNDS(threads_of(c), 1) void attention_wgmma(
    IN(query_rows(p) * p.head, .normal) const T* __restrict__ q, IN(key_rows(p) * p.head, .normal) const T* __restrict__ k,
    IN(key_rows(p) * head_of_values(), .normal) const T* __restrict__ v, IN(p.packed ? p.batch + 1 : 0) const i32* __restrict__ q_starts,
    IN(p.packed ? p.batch + 1 : 0) const i32* __restrict__ k_starts, OUT(query_rows(p) * head_of_values()) T* __restrict__ out,
    OUT(query_rows(p)) float* __restrict__ lse, WORKSPACE_ZEROED(1) int* next,
    TENSOR_MAP(q, .size = {p.head, p.layout == 1 ? query_heads(p) : p.queries, p.layout == 1 ? p.queries : query_heads(p), lines_of(p)},
               .box = {64, p.layout == 1 ? 1 : rows_of(c), p.layout == 1 ? rows_of(c) : 1, 1}, .swizzle = 128)
        const __grid_constant__ TensorMap q_map,
    TENSOR_MAP(k, .size = {p.head, p.layout == 1 ? p.heads : p.keys, p.layout == 1 ? p.keys : p.heads, lines_of(p)},
               .box = {64, p.layout == 1 ? 1 : c.bn / c.cluster, p.layout == 1 ? c.bn / c.cluster : 1, 1}, .swizzle = 128)
        const __grid_constant__ TensorMap k_map,
    TENSOR_MAP(v, .size = {head_of_values(), p.layout == 1 ? p.heads : p.keys, p.layout == 1 ? p.keys : p.heads, lines_of(p)},
               .box = {64, p.layout == 1 ? 1 : c.bn / c.cluster, p.layout == 1 ? c.bn / c.cluster : 1, 1}, .swizzle = 128)
        const __grid_constant__ TensorMap v_map,
    SCALAR(0.25) float scale, Problem p) {
#if defined(HONE_HOPPER)
  SHARED_DYNAMIC(unsigned char, memory);
  const SharedLayout<c> layout(memory);
  const int rank = c.cluster > 1 ? (int)hopper::cluster_rank() : 0;
  if (threadIdx.x == 0) {
    hopper::prefetch_tensor_map(q_map);
    hopper::prefetch_tensor_map(k_map);
    hopper::prefetch_tensor_map(v_map);
    init_barriers(layout);
  }
  if constexpr (c.cluster > 1) {
    hopper::cluster_sync();
  } else {
    __syncthreads();
  }
  if (threadIdx.x < 128) {
    if constexpr (c.consumers == 3) hopper::setmaxnreg_dec<32>();
    if constexpr (c.consumers == 2) hopper::setmaxnreg_dec<40>();
    if (threadIdx.x == 0) Producer<c>{q_map, k_map, v_map, next, q_starts, k_starts, p, layout, rank}.run();
  } else {
    if constexpr (c.consumers > 1) hopper::setmaxnreg_inc<registers_of(c)>();
    // The same in all threads of a warp, and the compiler is to know: products in loops that threads could leave one by one are serialized.
    const int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / 128 - 1, 0);
    Consumer<T, T, c> consumer{p, layout, q_starts, k_starts, out, lse, {scale}, rank, group, (int)threadIdx.x % 128};
    consumer.run();
  }
  if constexpr (c.cluster > 1) {  // a block must not end while others access its shared memory
    __syncwarp();
    hopper::cluster_sync();
  }
#endif
}
