// Attention of 8-bit floats on Hopper's tensor cores (wgmma): out = softmax(scale * q k^T) v for each sequence and head, over the keys that
// a query sees; lse is the logarithm of the sum of exponentials. Elements of q, k and v are multiplied by a scale of their head.
#include <hone/kernel.h>
#include <hone/kernel_hopper.h>
#include <hone/kernel_narrow.h>

struct Problem {
  long batch = 4;                         // sequences
  long heads = 32;                        // heads of k and v
  long group = 1;                         // heads of q that share one of k and v
  long queries = 4096, keys = 4096;       // tokens of a sequence (packed: of all together): of q and out; of k and v
  RANGE(32, 512) STATIC long head = 128;  // elements of a head: multiples of 32
  STATIC bool causal = true;              // a query sees no keys behind it; the last query is beside the last key
  RANGE(0) long window = 0;               // keys that a query sees up to its own, and from it on: itself and those near; 0: all
  RANGE(1, 2) STATIC long layout = 1;     // of q, k, v and out: 1 [batch, tokens, heads, head], 2 [batch, heads, tokens, head]
  STATIC bool packed = false;             // sequences differ in length: they lie one after another, in layout 1
  RANGE(0, 100) long varied = 0;          // percent by which lengths differ from their mean in inputs that are made for packed sequences
};

// As attention_wgmma. Products of 8 bits take both operands along what is summed: three warps beside the thread that loads transpose each
// block of values in shared memory.
struct Config {
  TUNE(1, 2, 3) int consumers = 2;                // warpgroups of 64 queries: they share what is loaded, and the registers
  TUNE(64, 96, 128, 160, 192, 224) int bn = 128;  // keys of a block: larger ones rescale and synchronize less often
  TUNE(2, 3, 4) int stages = 2;                   // blocks of keys, of values and of transposed values in shared memory
  TUNE(1, 2) int q_stages = 1;                    // tiles of queries in shared memory: with two, the next one is there when its turn comes
  TUNE(false, true) bool pingpong = false;        // consumers take turns: one multiplies while others weigh
  TUNE(0, 1, 2) int schedule = 2;                 // as attention_wgmma
  TUNE(1, 2, 4, 8, 16, 32) int raster = 16;       // heads that run side by side, so that their keys and values stay in L2
  TUNE(-1, 0) int lazy = -1;           // 0: sums are rescaled where the largest score changes; -1: always. The largest weight is exact
  TUNE(0, 1, 2, 3, 4) int by_fma = 0;  // of eight exponentials, those that multiply-adds compute instead of the special-function unit
  static constexpr int cluster = 1;
};
HONE_BOTH constexpr long head_of_values() { return Problem::head; }  // elements of a head of v and out
#include "../attention_problem.h"

template <class T>
constexpr Cost cost(Problem p) {
  return cost_of(p, 1, sizeof(T));
}

constexpr int kOperandBytes = 1;                                  // of an element of q, k and v
HONE_BOTH constexpr long padded_head() { return Problem::head; }  // of elements in shared memory
HONE_BOTH constexpr long padded_head_of_values() { return Problem::head; }
HONE_BOTH constexpr int lazy_of(const Config& c) { return c.lazy; }
/// Bytes of a row that lie together in shared memory.
constexpr long line_of(Problem p) { return min_of(p.head, 128L); }
HONE_BOTH constexpr int rows_of(const Config& c) { return 64 * c.consumers; }
HONE_BOTH constexpr int threads_of(const Config& c) { return 128 * (c.consumers + 1); }
HONE_BOTH constexpr long q_bytes(const Config& c) { return rows_of(c) * Problem::head; }
HONE_BOTH constexpr long stage_bytes(const Config& c) { return c.bn * Problem::head; }
HONE_BOTH constexpr long value_stage_bytes(const Config& c) { return stage_bytes(c); }
/// Lines of 128 keys.
HONE_BOTH constexpr long transposed_bytes(const Config& c) { return round_up((long)c.bn, 128L) * Problem::head; }
constexpr long shared_bytes(Problem p, Config c) {
  return 1024 + (rows_of(c) * c.q_stages + c.stages * (2 * c.bn + round_up((long)c.bn, 128L))) * p.head + 8 + 24 * c.q_stages +
         48 * c.stages;
}
/// Registers of a consumer's thread: what all have is 65536; the producer keeps 40 or 32.
HONE_BOTH constexpr int registers_of(const Config& c) { return c.consumers == 3 ? 160 : 232; }
/// Scores, sums and rounded weights.
constexpr long held_registers(Problem p, Config c) { return c.bn / 2 + p.head / 2 + c.bn / 8; }
HONE_BOTH constexpr long tiles_of_head(Problem p, const Config& c) { return tile_places(p, (long)rows_of(c)); }
HONE_BOTH constexpr long tiles_of(Problem p, const Config& c) { return lines_of(p) * query_heads(p) * tiles_of_head(p, c); }

template <class T>
constexpr bool valid(Problem p, Config c, Device d) {
  if (p.packed && p.layout != 1) return false;                       // tokens are the outer axis
  if (!has_answer(p)) return false;                                  // queries without keys
  if (d.compute_capability != 90) return false;                      // wgmma: Hopper alone
  if (p.head != 64 && p.head != 128 && p.head != 256) return false;  // lines of 64 or 128 bytes; a product has at most 256 columns
  if (held_registers(p, c) + 16 > registers_of(c)) return false;     // sums of products under way must be in registers
  if (shared_bytes(p, c) > d.shared_memory_per_block) return false;  // the device's limit
  if (tiles_of(p, c) > 2000000000) return false;                     // tiles are counted in 32 bits
  if (c.pingpong && c.consumers == 1) return false;                  // there is no other one
  if (c.schedule == 0 && c.q_stages > 1) return false;               // duplicate: each block has one tile
  return c.schedule == 0 || tiles_of(p, c) > d.multiprocessors;      // duplicate: each block has one tile
}

// Learned on an H100 in November 2026, at heads of 128.
template <class T>
constexpr bool likely(Problem p, Config c, Device d) {
  if (held_registers(p, c) + 36 > registers_of(c)) return false;                  // spills: addresses and the state of rows need some, too
  if (c.consumers == 1 && queries_of_sequence(p) > 64) return false;              // nothing shares what is loaded
  if (rows_of(c) > 64 && rows_of(c) >= 2 * queries_of_sequence(p)) return false;  // more than half of every tile is outside
  if (c.bn > 64 && c.bn >= 2 * keys_of_sequence(p)) return false;                 // more than half of the block is outside
  if (c.pingpong && p.head == 128) return false;                                  // 2 to 9 % behind: consumers come apart by themselves
  if (c.by_fma > 0 && p.head == 128) return false;                      // 5 to 8 % behind: what limits is how many instructions are issued
  return c.raster == 1 || c.raster < 2 * lines_of(p) * query_heads(p);  // the same order as with a smaller one
}

constexpr Launch launch(Problem p, Config c, Device d) {
  return {.grid = {c.schedule == 0 ? tiles_of(p, c) : min_of(tiles_of(p, c), d.multiprocessors)},
          .block = {threads_of(c)},
          .shared = shared_bytes(p, c)};
}

// Hopper's sums of 8-bit products are cut off 13 binary places behind the largest of 32 products and the sum before them. Where all have
// one sign, scores lose up to .5 % of their magnitude at heads of 256, .15 % at heads of 128.
template <class T>
REFERENCE(query_rows(p))
TOLERANCE(lse, .absolute = 0.02, .relative = 8e-3) void attention_fp8_reference_lse(long row, const e4m3* q, const e4m3* k,
                                                                                    const i32* q_starts, const i32* k_starts,
                                                                                    const float* q_scale, const float* k_scale, double* lse,
                                                                                    float scale, Problem p) {
  const long head = query_row(p, row, q_starts, k_starts).head;
  lse[row] = lse_of(row, q, k, q_starts, k_starts, scale * q_scale[head] * k_scale[head / p.group], p);
}
// Weights are rounded to e4m3 before the product with v: each is off by a sixteenth of it at most.
template <class T>
REFERENCE(query_rows(p) * p.head / 32)
TOLERANCE(out, .absolute = 0.1,
          .relative = 0.03) void attention_fp8_reference(long i, const e4m3* q, const e4m3* k, const e4m3* v, const i32* q_starts,
                                                         const i32* k_starts, const float* q_scale, const float* k_scale,
                                                         const float* v_scale, double* out, double* lse, float scale, Problem p) {
  const long head = query_row(p, i / (Problem::head / kShare), q_starts, k_starts).head, shared = head / p.group;
  out_at(i, q, k, v, q_starts, k_starts, out, lse, scale * q_scale[head] * k_scale[shared], p, v_scale[shared]);
}

SHAPES({.batch = 1, .heads = 1, .group = 2, .queries = 129, .keys = 193}, {.batch = 2, .heads = 2, .queries = 5, .keys = 5},
       {.batch = 1, .heads = 1, .queries = 65, .keys = 300, .window = 70},
       {.batch = 5, .heads = 1, .queries = 200, .keys = 260, .varied = 100},
       {.batch = 12, .heads = 1, .queries = 10, .keys = 12, .varied = 100},
       {.batch = 3, .heads = 1, .queries = 150, .keys = 210, .window = 30, .varied = 100});

// ---- the kernel
// ---------------------------------------------------------------------------------------------------------------------------
#include "../attention_wgmma/consumer.h"
#include "../attention_wgmma/producer.h"
#include "operands.h"
#include "transpose_values.h"

template <class T, Config c>
KERNEL DTYPES(bf16, f16) LAUNCH_BOUNDS(threads_of(c), 1) void attention_fp8(
    IN(query_rows(p) * p.head, .normal) const e4m3* __restrict__ q, IN(key_rows(p) * p.head, .normal) const e4m3* __restrict__ k,
    IN(key_rows(p) * p.head, .normal) const e4m3* __restrict__ v, IN(p.packed ? p.batch + 1 : 0) const i32* __restrict__ q_starts,
    IN(p.packed ? p.batch + 1 : 0) const i32* __restrict__ k_starts, IN(query_heads(p), .low = 0.5, .below = 1.5) const float* q_scale,
    IN(p.heads, .low = 0.5, .below = 1.5) const float* k_scale, IN(p.heads, .low = 0.5, .below = 1.5) const float* v_scale,
    OUT(query_rows(p) * p.head) T* __restrict__ out, OUT(query_rows(p)) float* __restrict__ lse, WORKSPACE_ZEROED(1) int* next,
    TENSOR_MAP(q, .size = {p.head, p.layout == 1 ? query_heads(p) : p.queries, p.layout == 1 ? p.queries : query_heads(p), lines_of(p)},
               .box = {line_of(p), p.layout == 1 ? 1 : rows_of(c), p.layout == 1 ? rows_of(c) : 1, 1}, .swizzle = line_of(p))
        const __grid_constant__ TensorMap q_map,
    TENSOR_MAP(k, .size = {p.head, p.layout == 1 ? p.heads : p.keys, p.layout == 1 ? p.keys : p.heads, lines_of(p)},
               .box = {line_of(p), p.layout == 1 ? 1 : c.bn, p.layout == 1 ? c.bn : 1, 1}, .swizzle = line_of(p))
        const __grid_constant__ TensorMap k_map,
    TENSOR_MAP(v, .size = {p.head, p.layout == 1 ? p.heads : p.keys, p.layout == 1 ? p.keys : p.heads, lines_of(p)},
               .box = {line_of(p), p.layout == 1 ? 1 : c.bn, p.layout == 1 ? c.bn : 1, 1}, .swizzle = line_of(p))
        const __grid_constant__ TensorMap v_map,
    SCALAR(0.25) float scale, Problem p) {
#if defined(HONE_HOPPER)
  SHARED_DYNAMIC(unsigned char, memory);
  const SharedLayout<c> layout(memory);
  if (threadIdx.x == 0) {
    hopper::prefetch_tensor_map(q_map);
    hopper::prefetch_tensor_map(k_map);
    hopper::prefetch_tensor_map(v_map);
    init_barriers(layout);
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    if constexpr (c.consumers == 3) hopper::setmaxnreg_dec<32>();
    if constexpr (c.consumers == 2) hopper::setmaxnreg_dec<40>();
    if (threadIdx.x >= 32) transpose_blocks(layout);
    if (threadIdx.x == 0) Producer<c>{q_map, k_map, v_map, next, q_starts, k_starts, p, layout, 0}.run();
  } else {
    if constexpr (c.consumers > 1) hopper::setmaxnreg_inc<registers_of(c)>();
    const int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / 128 - 1, 0);  // as attention_wgmma
    Consumer<T, e4m3, c> consumer{
        p, layout, q_starts, k_starts, out, lse, {scale, q_scale, k_scale, v_scale}, 0, group, (int)threadIdx.x % 128};
    consumer.run();
  }
#endif
}
