// Attention on tensor cores, a warp at a time: out = softmax(scale * q k^T) v for each sequence and head, over the keys that a query sees;
// lse is the logarithm of the sum of exponentials.
#include <hone/kernel.h>

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

// A block has a tile of queries, a warp 16 or 32 of them; all share blocks of keys and values in shared memory, in words of 16 bytes that
// are swizzled so that eight lanes that read a column of words use different banks.
struct Config {
  TUNE(1, 2, 4, 8) int warps = 4;         // of a block: they share what is loaded
  TUNE(16, 32) int wm = 16;               // queries of a warp: more reuse of what it reads, more registers
  TUNE(16, 32, 64, 96, 128) int bn = 64;  // keys of a block
  TUNE(1, 2, 3) int stages = 1;           // blocks of keys, and of values, in shared memory: 1 loads keys while values are used
  TUNE(false, true) bool held = false;    // q stays in registers, not in shared memory
  TUNE(1, 4, 16, 64) int raster = 16;     // heads that run side by side, so that their keys and values stay in L2
  TUNE(-1, 8) int lazy = -1;  // sums are rescaled where scores exceed the largest before by more than this power of two; -1: always
  TUNE(0, 2) int by_fma = 0;  // of eight exponentials, those that multiply-adds compute instead of the special-function unit
};
#include "../attention.h"
#include "../attention_lines.h"

HONE_BOTH constexpr int rows_of(const Config& c) { return c.warps * c.wm; }
HONE_BOTH constexpr long tiles_of_head(Problem p, const Config& c) { return tile_places(p, rows_of(c)); }
constexpr long shared_bytes(Problem, Config c) { return (rows_of(c) + 2L * c.stages * c.bn) * line_pitch() * 2; }
/// Registers of a thread, estimated low: sums, scores, weights, q.
constexpr long registers_of(Problem p, Config c) { return c.wm / 16 * (head_of_values() / 2 + c.bn / 2 + (c.held ? p.head / 4 : 4)) + 40; }

template <class T>
constexpr bool valid(Problem p, Config c, Device d) {
  if (p.packed && p.layout != 1) return false;                            // tokens are the outer axis
  if (!has_answer(p)) return false;                                       // queries without keys
  if (d.compute_capability < 80) return false;                            // mma of bf16 and cp.async
  if (p.head % 32 != 0 || p.head > 256) return false;                     // the answer is computed in shares of 32; registers
  if (p.value_head % 32 != 0 || head_of_values() > p.head) return false;  // lines of values are as long as those of keys
  return shared_bytes(p, c) <= d.shared_memory_per_block;                 // the device's limit
}

template <class T>
constexpr bool likely(Problem p, Config c, Device d) {
  if (registers_of(p, c) > 255) return false;                                            // spills: a thread has no more
  if (registers_of(p, c) * c.warps * 32 > d.registers_per_multiprocessor) return false;  // spills: a multiprocessor has no more
  if (c.warps < 4 && queries_of_sequence(p) > 32) return false;                          // what is loaded is used by too few
  if (rows_of(c) > 16 && rows_of(c) >= 2 * queries_of_sequence(p)) return false;         // more than half of every tile is outside
  if (c.bn > 16 && c.bn >= 2 * keys_of_sequence(p)) return false;                        // more than half of the block is outside
  return c.raster == 1 || c.raster < 4 * lines_of(p) * query_heads(p);                   // the same order as with a smaller one
}

constexpr Launch launch(Problem p, Config c) {
  return {.grid = {lines_of(p) * query_heads(p) * tiles_of_head(p, c)}, .block = {c.warps * 32}, .shared = shared_bytes(p, c)};
}

template <class T>
REFERENCE(query_rows(p))
TOLERANCE(lse, .absolute = 1e-3, .relative = 1e-5) void attention_mma_reference_lse(long row, const T* q, const T* k, const i32* q_starts,
                                                                                    const i32* k_starts, double* lse, float scale,
                                                                                    Problem p) {
  lse[row] = lse_of(row, q, k, q_starts, k_starts, scale, p);
}
// Weights are rounded to T before the product with v.
template <class T>
REFERENCE(query_rows(p) * head_of_values() / 32)
TOLERANCE(out, .absolute = 0.01, .relative = 0.006) void attention_mma_reference(long i, const T* q, const T* k, const T* v,
                                                                                 const i32* q_starts, const i32* k_starts, double* out,
                                                                                 double* lse, float scale, Problem p) {
  out_at(i, q, k, v, q_starts, k_starts, out, lse, scale, p);
}

SHAPES({.batch = 1, .heads = 1, .group = 2, .queries = 129, .keys = 193}, {.batch = 2, .heads = 2, .queries = 5, .keys = 5},
       {.batch = 1, .heads = 1, .queries = 65, .keys = 300, .window = 70},
       {.batch = 5, .heads = 1, .queries = 200, .keys = 260, .varied = 100},
       {.batch = 12, .heads = 1, .queries = 10, .keys = 12, .varied = 100},
       {.batch = 3, .heads = 1, .queries = 150, .keys = 210, .window = 30, .varied = 100});

#include "warp.h"

template <class T, Config c>
KERNEL DTYPES(bf16, f16)
    LAUNCH_BOUNDS(c.warps * 32) void attention_mma(IN(query_rows(p) * p.head, .normal) const T* __restrict__ q,
                                                   IN(key_rows(p) * p.head, .normal) const T* __restrict__ k,
                                                   IN(key_rows(p) * head_of_values(), .normal) const T* __restrict__ v,
                                                   IN(p.packed ? p.batch + 1 : 0) const i32* __restrict__ q_starts,
                                                   IN(p.packed ? p.batch + 1 : 0) const i32* __restrict__ k_starts,
                                                   OUT(query_rows(p) * head_of_values()) T* __restrict__ out,
                                                   OUT(query_rows(p)) float* __restrict__ lse, SCALAR(0.25) float scale, Problem p) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  SHARED_DYNAMIC(unsigned char, memory);
  const int index = (int)blockIdx.x;
  const Work work = work_at<c>(p, scale, index, packed_sequence<c>(p, index, rows_of(c), q_starts), q_starts, k_starts);
  if (!work.exists) return;
  const Sequence s = work.sequence;
  const T *const keys = k + key_place(p, s, 0, work.head), *const values = v + key_place(p, s, 0, work.head, head_of_values());
  const Rows<T> of_q{q + query_place(p, s, work.first, work.head), token_stride(query_heads(p)), (int)(s.queries - work.first)};
  const Rows<T> of_k{keys, token_stride(p.heads), (int)s.keys};
  const Rows<T, (int)head_of_values()> of_v{values, token_stride(p.heads, head_of_values()), (int)s.keys};
  Warp<T, c> warp{p, (unsigned)__cvta_generic_to_shared(memory), power_scale(scale), sign_of(scale)};
  warp.run(of_q, of_k, of_v, work);
  warp.write(out, lse, work);
#endif
}
