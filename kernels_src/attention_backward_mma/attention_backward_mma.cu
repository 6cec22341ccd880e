// The backward pass of attention on tensor cores, a warp at a time: dq, dk and dv from dout, attention's out and the logarithm of its sum
// of exponentials. Each result is one sum in a fixed order: the same bits every time.
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
  RANGE(1, 2) STATIC long layout = 1;        // of all but lse: 1 [batch, tokens, heads, head], 2 [batch, heads, tokens, head]
  STATIC bool packed = false;                // sequences differ in length: they lie one after another, in layout 1
  RANGE(0, 100) long varied = 0;             // percent by which lengths differ from their mean in inputs that are made for packed sequences
};

// Two passes, which both multiply scores and the products of dout and v: the first has a tile of queries in a block, and steps through keys
// for dq; the second a tile of keys, and steps through queries for dk and dv. A warp has 16 or 32 rows of a tile; all share the steps.
struct Config {
  TUNE(2, 4, 8) int warps = 4;        // of a block: they share what is loaded
  TUNE(16, 32) int wm = 16;           // rows of a warp: more reuse of what it reads, more registers
  TUNE(16, 32, 64) int bn = 32;       // keys of a step of the first pass
  TUNE(16, 32, 64) int bm = 32;       // queries of a step of the second one
  TUNE(1, 2, 3) int stages = 2;       // steps in shared memory
  TUNE(1, 4, 16, 64) int raster = 4;  // heads that run side by side, so that what their blocks read stays in L2
};
#include "../attention_backward.h"
#include "../attention_lines.h"

HONE_BOTH constexpr int rows_of(const Config& c) { return c.warps * c.wm; }
HONE_BOTH constexpr int keys_of(const Config& c) { return rows_of(c); }
HONE_BOTH constexpr long tiles_of_head(Problem p, const Config& c) { return tile_places(p, rows_of(c)); }
constexpr long shared_bytes(Config c, int step) { return (2L * rows_of(c) + 2L * c.stages * step) * line_pitch() * 2; }
/// Registers of a thread of the second pass, estimated low: sums, scores, products, rounded ones and what is known of queries.
constexpr long registers_of(Problem p, Config c) { return c.wm / 16 * ((p.head + head_of_values()) / 2 + c.bm + c.bm / 4) + c.bm / 2 + 30; }

template <class T>
constexpr bool valid(Problem p, Config c, Device d) {
  if (p.packed && p.layout != 1) return false;                              // tokens are the outer axis
  if (!has_answer(p)) return false;                                         // queries without keys
  if (d.compute_capability < 80) return false;                              // mma of bf16 and cp.async
  if (p.head % 32 != 0 || p.head > 256) return false;                       // the answer is computed in shares of 32; registers
  if (p.value_head % 32 != 0 || head_of_values() > p.head) return false;    // lines of values are as long as those of keys
  return shared_bytes(c, max_of(c.bn, c.bm)) <= d.shared_memory_per_block;  // the device's limit
}

template <class T>
constexpr bool likely(Problem p, Config c, Device d) {
  if (registers_of(p, c) > 255 && (c.wm > 16 || c.bm > 16)) return false;                // spills: a thread has no more
  if (registers_of(p, c) * c.warps * 32 > d.registers_per_multiprocessor) return false;  // spills: a multiprocessor has no more
  if (c.warps < 4 && keys_of_sequence(p) > 32) return false;                             // what is loaded is used by too few
  if (rows_of(c) > 32 && rows_of(c) >= 2 * keys_of_sequence(p)) return false;            // more than half of every tile is outside
  return c.raster == 1 || c.raster < 4 * lines_of(p) * p.heads;                          // the same order as with a smaller one
}

constexpr Launch launch_attention_backward_mma(Problem p, Config c) {
  return {.grid = {lines_of(p) * query_heads(p) * tiles_of_head(p, c)}, .block = {c.warps * 32}, .shared = shared_bytes(c, c.bn)};
}
constexpr Launch launch_attention_backward_mma_keys(Problem p, Config c) {
  return {.grid = {lines_of(p) * p.heads * key_tile_places(p, keys_of(c))}, .block = {c.warps * 32}, .shared = shared_bytes(c, c.bm)};
}

template <class T>
REFERENCE(query_rows(p) * p.head / 32)
TOLERANCE(dq, .absolute = 0.02, .relative = 0.01) void attention_backward_mma_reference(long i, const T* q, const T* k, const T* v,
                                                                                        const T* out, const T* dout, const float* lse,
                                                                                        const i32* q_starts, const i32* k_starts,
                                                                                        double* dq, float scale, Problem p) {
  dq_at(i, q, k, v, out, dout, lse, q_starts, k_starts, dq, scale, p);
}
template <class T>
REFERENCE(key_rows(p) * p.head / 32)
TOLERANCE(dk, .absolute = 0.02, .relative = 0.01) void attention_backward_mma_reference_dk(long i, const T* q, const T* k, const T* v,
                                                                                           const T* out, const T* dout, const float* lse,
                                                                                           const i32* q_starts, const i32* k_starts,
                                                                                           double* dk, float scale, Problem p) {
  key_gradient_at<T, false>(i, q, k, v, out, dout, lse, q_starts, k_starts, dk, scale, p);
}
template <class T>
REFERENCE(key_rows(p) * head_of_values() / 32)
TOLERANCE(dv, .absolute = 0.02, .relative = 0.01) void attention_backward_mma_reference_dv(long i, const T* q, const T* k, const T* v,
                                                                                           const T* out, const T* dout, const float* lse,
                                                                                           const i32* q_starts, const i32* k_starts,
                                                                                           double* dv, float scale, Problem p) {
  key_gradient_at<T, true>(i, q, k, v, out, dout, lse, q_starts, k_starts, dv, scale, p);
}

template <class T>
ACCEPT(query_rows(p) + key_rows(p))
bool attention_backward_mma_accept(long row, const T* v, const T* out, const T* dout, const T* dq, const T* dk, const T* dv,
                                   const double* expected_dq, const double* expected_dk, const double* expected_dv, float scale,
                                   Problem p) {
  return are_rows_right(row, v, out, dout, dq, dk, dv, expected_dq, expected_dk, expected_dv, scale, p);
}

SHAPES({.batch = 1, .heads = 1, .group = 2, .queries = 129, .keys = 193}, {.batch = 2, .heads = 2, .queries = 5, .keys = 5},
       {.batch = 1, .heads = 1, .queries = 65, .keys = 300, .window = 70},
       {.batch = 5, .heads = 1, .queries = 200, .keys = 260, .varied = 100},
       {.batch = 12, .heads = 1, .queries = 10, .keys = 12, .varied = 100},
       {.batch = 3, .heads = 1, .queries = 150, .keys = 210, .window = 30, .varied = 100});

#include "warp.h"

/// dq, and delta for the second pass.
template <class T, Config c>
KERNEL DTYPES(bf16, f16) LAUNCH_BOUNDS(c.warps * 32) void attention_backward_mma(
    IN(query_rows(p) * p.head, .normal) const T* __restrict__ q, IN(key_rows(p) * p.head, .normal) const T* __restrict__ k,
    IN(key_rows(p) * head_of_values(), .normal) const T* __restrict__ v, IN(query_rows(p) * head_of_values()) const T* __restrict__ out,
    IN(query_rows(p) * head_of_values(), .normal) const T* __restrict__ dout, IN(query_rows(p)) const float* __restrict__ lse,
    IN(p.packed ? p.batch + 1 : 0) const i32* __restrict__ q_starts, IN(p.packed ? p.batch + 1 : 0) const i32* __restrict__ k_starts,
    OUT(query_rows(p) * p.head) T* __restrict__ dq, OUT(key_rows(p) * p.head) T* dk, OUT(key_rows(p) * head_of_values()) T* dv,
    WORKSPACE(query_rows(p)) float* __restrict__ deltas, SCALAR(0.0883883) float scale, Problem p) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  SHARED_DYNAMIC(unsigned char, memory);
  const int index = (int)blockIdx.x;
  const Work work = work_at<c>(p, 1.0f, index, packed_sequence<c>(p, index, rows_of(c), q_starts), q_starts, k_starts);
  if (!work.exists) return;
  const Sequence s = work.sequence;
  const long values = head_of_values();
  const Rows<T> of_q{q + query_place(p, s, work.first, work.head), token_stride(query_heads(p)), (int)(s.queries - work.first)};
  const Rows<T, (int)head_of_values()> of_dout{dout + query_place(p, s, work.first, work.head, values),
                                               token_stride(query_heads(p), values), (int)(s.queries - work.first)};
  const Rows<T> of_k{k + key_place(p, s, 0, work.head), token_stride(p.heads), (int)s.keys};
  const Rows<T, (int)head_of_values()> of_v{v + key_place(p, s, 0, work.head, values), token_stride(p.heads, values), (int)s.keys};
  QueryWarp<T, c> warp{{(unsigned)__cvta_generic_to_shared(memory), scale * kLog2OfE}};
  warp.start_rows(of_q, of_dout);
  warp.read_terms(p, work, out, dout, lse, deltas);
  warp.run(
      work.end - work.begin, [&](int n) { warp.start_step(n, of_k, of_v, (work.begin + n) * c.bn); },
      [&](int n) { warp.step(p, work, work.begin + n, n); });
#pragma unroll
  for (int i = 0; i < c.wm / 16; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const long query = work.first + warp.row_of(i) + r * 8 + lane_of_warp() / 4;
      write_row<T>(warp.sums[i], r, scale, dq + query_place(p, s, query, work.head), (int)Problem::head, query < s.queries);
    }
  }
#endif
}

/// dk and dv.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.warps * 32) void attention_backward_mma_keys(
    IN(query_rows(p) * p.head, .normal) const T* __restrict__ q, IN(key_rows(p) * p.head, .normal) const T* __restrict__ k,
    IN(key_rows(p) * head_of_values(), .normal) const T* __restrict__ v,
    IN(query_rows(p) * head_of_values(), .normal) const T* __restrict__ dout, IN(query_rows(p)) const float* __restrict__ lse,
    IN(p.packed ? p.batch + 1 : 0) const i32* __restrict__ q_starts, IN(p.packed ? p.batch + 1 : 0) const i32* __restrict__ k_starts,
    OUT(key_rows(p) * p.head) T* __restrict__ dk, OUT(key_rows(p) * head_of_values()) T* __restrict__ dv,
    WORKSPACE(query_rows(p)) const float* __restrict__ deltas, SCALAR(0.0883883) float scale, Problem p) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  SHARED_DYNAMIC(unsigned char, memory);
  const KeyWork work = key_work_at<c>(p, (int)blockIdx.x, q_starts, k_starts);
  if (!work.exists) return;
  const Sequence s = work.sequence;
  const long values = head_of_values(), first_head = work.head * p.group;
  const Rows<T> of_k{k + key_place(p, s, work.first, first_head), token_stride(p.heads), (int)(s.keys - work.first)};
  const Rows<T, (int)head_of_values()> of_v{v + key_place(p, s, work.first, first_head, values), token_stride(p.heads, values),
                                            (int)(s.keys - work.first)};
  KeyWarp<T, c> warp{{(unsigned)__cvta_generic_to_shared(memory), scale * kLog2OfE}};
  if (work.tiles > 0) warp.start_rows(of_k, of_v);
  const auto start = [&](int n) {
    const int head = (int)first_head + n / work.tiles, at = (work.begin + n % work.tiles) * c.bm;
    const Rows<T> of_q{q + query_place(p, s, 0, head), token_stride(query_heads(p)), (int)s.queries};
    const Rows<T, (int)head_of_values()> of_dout{dout + query_place(p, s, 0, head, values), token_stride(query_heads(p), values),
                                                 (int)s.queries};
    warp.start_step(n, of_q, of_dout, at);
  };
  const auto step = [&](int n) {
    const long terms = lse_place(p, s, 0, first_head + n / work.tiles);
    warp.step(p, work, (work.begin + n % work.tiles) * c.bm, n, lse + terms, deltas + terms);
  };
  warp.run((int)p.group * work.tiles, start, step);
#pragma unroll
  for (int i = 0; i < c.wm / 16; ++i) {
    write_keys(warp.sums[i], warp.sums_of_values[i], dk, dv, scale, p, work, work.first + warp.row_of(i) + lane_of_warp() / 4);
  }
#endif
}
