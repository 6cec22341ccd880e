// The backward pass of attention on Hopper's tensor cores (wgmma): dq, dk and dv from dout, attention's out and the logarithm of its sum of
// exponentials.
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
  RANGE(1, 2) STATIC long layout = 1;        // of all but lse: 1 [batch, tokens, heads, head], 2 [batch, heads, tokens, head]
  STATIC bool packed = false;                // sequences differ in length: they lie one after another, in layout 1
  RANGE(0, 100) long varied = 0;             // percent by which lengths differ from their mean in inputs that are made for packed sequences
};

// Three passes. The first brings what is known of rows of q into tiles. In the second a block has 64 keys for each consumer warpgroup (128
// threads), and steps through the queries that see them, which one thread loads by TMA; products have keys as rows, so that weights and
// changes are the left operands of dv and dk from registers. For dq they pass through shared memory, and blocks add to one sum in float:
// the order of these is free. The third pass rounds dq.
struct Config {
  TUNE(1, 2) int consumers = 2;         // warpgroups of 64 keys: they share what is loaded
  TUNE(64, 128) int bm = 64;            // queries of a step
  TUNE(2, 3, 4) int stages = 2;         // steps in shared memory
  TUNE(1, 2, 4, 8, 16) int raster = 4;  // heads of k and v that run side by side, so that what their blocks read and add to stays in L2
};
#include "../attention_backward.h"

constexpr int kLine = 128;  // bytes of a line of a panel of 64 columns
constexpr int kPanels = (int)ceil_div(Problem::head, 64L), kValuePanels = (int)ceil_div(head_of_values(), 64L);
constexpr int kTermsThreads = 256, kTermsLanes = 8, kTermsRows = kTermsThreads / kTermsLanes;

HONE_BOTH constexpr int keys_of(const Config& c) { return 64 * c.consumers; }
HONE_BOTH constexpr int threads_of(const Config& c) { return 128 * (c.consumers + 1); }
/// Of the rows of a tile of queries: the logarithm of the sum of exponentials, to the base 2, then delta.
HONE_BOTH constexpr long terms_bytes(const Config& c) { return c.bm * 8; }
/// A tile of dq, which consumers share: blocks of 64 queries of a consumer, and columns of these.
HONE_BOTH constexpr int own_blocks(const Config& c) { return max_of(1, c.bm / 64 / c.consumers); }
HONE_BOTH constexpr int slice_of(const Config& c) { return c.bm / 64 >= c.consumers ? kPanels * 64 : kPanels * 64 / c.consumers; }
constexpr long shared_bytes(Problem p, Config c) {
  const long columns = 64 * (ceil_div(p.head, 64L) + ceil_div(head_of_values(), 64L));
  return 1024 + (keys_of(c) + c.stages * c.bm) * columns * 2 + 2 * c.bm * keys_of(c) * 2 + c.stages * terms_bytes(c) + 8 + 24 * c.stages;
}
/// Registers of a consumer's thread: what all have is 65536.
constexpr int registers_of(const Config& c) { return c.consumers == 2 ? 240 : 255; }
/// Of dk and dv, of a step's two products and its rounded weights.
constexpr long held_registers(Problem p, Config c) {
  return 32 * (ceil_div(p.head, 64L) + ceil_div(head_of_values(), 64L)) + c.bm + c.bm / 4;
}
HONE_BOTH constexpr long padded_queries(Problem p, const Config& c) { return tile_places(p, c.bm) * c.bm; }  // of a head in a line
HONE_BOTH constexpr long tiles_of(Problem p, const Config& c) { return lines_of(p) * p.heads * key_tile_places(p, keys_of(c)); }

template <class T>
constexpr bool valid(Problem p, Config c, Device d) {
  if (p.packed && p.layout != 1) return false;                       // tokens are the outer axis
  if (!has_answer(p)) return false;                                  // queries without keys
  if (d.compute_capability != 90) return false;                      // wgmma: Hopper alone
  if (p.head % 32 != 0 || p.value_head % 32 != 0) return false;      // the answer is computed in shares of 32
  if (p.head > 128 || p.value_head > 128) return false;              // sums of dk and dv would not be in registers
  if (held_registers(p, c) + 24 > registers_of(c)) return false;     // sums of products under way must be in registers
  if (shared_bytes(p, c) > d.shared_memory_per_block) return false;  // the device's limit
  return tiles_of(p, c) <= 2000000000;                               // blocks are counted in 32 bits
}

template <class T>
constexpr bool likely(Problem p, Config c, Device d) {
  return c.raster == 1 || c.raster < 2 * lines_of(p) * p.heads;  // the same order as with a smaller one
}

constexpr Launch launch_attention_backward_wgmma(Problem p, Config c) {
  return {.grid = {ceil_div(lines_of(p) * query_heads(p) * padded_queries(p, c), (long)kTermsRows)}, .block = {kTermsThreads}};
}
constexpr Launch launch_attention_backward_wgmma_keys(Problem p, Config c) {
  return {.grid = {tiles_of(p, c)}, .block = {threads_of(c)}, .shared = shared_bytes(p, c)};
}
constexpr Launch launch_attention_backward_wgmma_round(Problem p, Config c) {
  return {.grid = {lines_of(p) * query_heads(p) * padded_queries(p, c) / 64}, .block = {128}};
}

template <class T>
REFERENCE(query_rows(p) * p.head / 32)
TOLERANCE(dq, .absolute = 0.02, .relative = 0.01) void attention_backward_wgmma_reference(long i, const T* q, const T* k, const T* v,
                                                                                          const T* out, const T* dout, const float* lse,
                                                                                          const i32* q_starts, const i32* k_starts,
                                                                                          double* dq, float scale, Problem p) {
  dq_at(i, q, k, v, out, dout, lse, q_starts, k_starts, dq, scale, p);
}
template <class T>
REFERENCE(key_rows(p) * p.head / 32)
TOLERANCE(dk, .absolute = 0.02, .relative = 0.01) void attention_backward_wgmma_reference_dk(long i, const T* q, const T* k, const T* v,
                                                                                             const T* out, const T* dout, const float* lse,
                                                                                             const i32* q_starts, const i32* k_starts,
                                                                                             double* dk, float scale, Problem p) {
  key_gradient_at<T, false>(i, q, k, v, out, dout, lse, q_starts, k_starts, dk, scale, p);
}
template <class T>
REFERENCE(key_rows(p) * head_of_values() / 32)
TOLERANCE(dv, .absolute = 0.02, .relative = 0.01) void attention_backward_wgmma_reference_dv(long i, const T* q, const T* k, const T* v,
                                                                                             const T* out, const T* dout, const float* lse,
                                                                                             const i32* q_starts, const i32* k_starts,
                                                                                             double* dv, float scale, Problem p) {
  key_gradient_at<T, true>(i, q, k, v, out, dout, lse, q_starts, k_starts, dv, scale, p);
}

template <class T>
ACCEPT(query_rows(p) + key_rows(p))
bool attention_backward_wgmma_accept(long row, const T* v, const T* out, const T* dout, const T* dq, const T* dk, const T* dv,
                                     const double* expected_dq, const double* expected_dk, const double* expected_dv, float scale,
                                     Problem p) {
  return are_rows_right(row, v, out, dout, dq, dk, dv, expected_dq, expected_dk, expected_dv, scale, p);
}

SHAPES({.batch = 1, .heads = 1, .group = 2, .queries = 129, .keys = 193}, {.batch = 2, .heads = 2, .queries = 5, .keys = 5},
       {.batch = 1, .heads = 1, .queries = 65, .keys = 300, .window = 70},
       {.batch = 5, .heads = 1, .queries = 200, .keys = 260, .varied = 100},
       {.batch = 12, .heads = 1, .queries = 10, .keys = 12, .varied = 100},
       {.batch = 3, .heads = 1, .queries = 150, .keys = 210, .window = 30, .varied = 100});

// ---- the kernels
// --------------------------------------------------------------------------------------------------------------------------
#include "consumer.h"
#include "producer.h"

/// A row of q among the places for tiles of queries.
struct PaddedRow {
  Sequence sequence;
  long head, query;  // the query may be behind the last one
};
HONE_BOTH constexpr PaddedRow padded_row(Problem p, long row, long padded, int rows_of_tile, const i32* q_starts, const i32* k_starts) {
  const long line = row / padded, place = row % padded / rows_of_tile;
  if constexpr (Problem::packed) {
    const SequenceTile at = tile_at_place(p, place, rows_of_tile, q_starts);
    return {sequence_of(p, at.sequence, q_starts, k_starts), line, (long)at.tile * rows_of_tile + row % rows_of_tile};
  }
  return {sequence_of(p, line / query_heads(p), q_starts, k_starts), line % query_heads(p), row % padded};
}

/// What is known of rows of q, where the second pass loads it: a few threads have a row. A row that does not exist, or sees no key, has no
/// weights.
template <class T, Config c>
KERNEL DTYPES(bf16, f16) LAUNCH_BOUNDS(kTermsThreads) void attention_backward_wgmma(
    IN(query_rows(p) * p.head, .normal) const T* q, IN(key_rows(p) * p.head, .normal) const T* k,
    IN(key_rows(p) * head_of_values(), .normal) const T* v, IN(query_rows(p) * head_of_values()) const T* __restrict__ out,
    IN(query_rows(p) * head_of_values(), .normal) const T* __restrict__ dout, IN(query_rows(p)) const float* __restrict__ lse,
    IN(p.packed ? p.batch + 1 : 0) const i32* __restrict__ q_starts, IN(p.packed ? p.batch + 1 : 0) const i32* __restrict__ k_starts,
    OUT(query_rows(p) * p.head) T* dq, OUT(key_rows(p) * p.head) T* dk, OUT(key_rows(p) * head_of_values()) T* dv,
    WORKSPACE(lines_of(p) * query_heads(p) * padded_queries(p, c) * 2) float* __restrict__ terms, Problem p) {
  const long padded = padded_queries(p, c), row = blockIdx.x * (long)kTermsRows + threadIdx.x / kTermsLanes;
  const bool is_row = row < lines_of(p) * query_heads(p) * padded;
  const PaddedRow at = padded_row(p, is_row ? row : 0, padded, c.bm, q_starts, k_starts);
  const bool exists = is_row && at.query < at.sequence.queries;
  float delta = 0;
  if (exists) {
    const long place = query_place(p, at.sequence, at.query, at.head, head_of_values());
    for (int e = (int)threadIdx.x % kTermsLanes * 8; e < head_of_values(); e += kTermsLanes * 8) {
      const auto x = load_packet<T, 8>(out + place + e), y = load_packet<T, 8>(dout + place + e);
#pragma unroll
      for (int i = 0; i < 8; ++i) delta += (float)x[i] * (float)y[i];
    }
  }
#pragma unroll
  for (int distance = 1; distance < kTermsLanes; distance *= 2) delta += __shfl_xor_sync(0xffffffffu, delta, distance);
  if (!is_row || threadIdx.x % kTermsLanes != 0) return;
  const float of_row = exists ? lse[lse_place(p, at.sequence, at.query, at.head)] : -INFINITY;
  float* const to = terms + row / c.bm * (2 * c.bm) + row % c.bm;
  to[0] = of_row == -INFINITY ? INFINITY : of_row * kLog2OfE;
  to[c.bm] = delta;
}

// The tensor maps' axes: elements of a head, heads, tokens, sequences; or, in layout 2, tokens before heads.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(threads_of(c), 1) void attention_backward_wgmma_keys(
    IN(query_rows(p) * p.head, .normal) const T* __restrict__ q, IN(key_rows(p) * p.head, .normal) const T* __restrict__ k,
    IN(key_rows(p) * head_of_values(), .normal) const T* __restrict__ v,
    IN(query_rows(p) * head_of_values(), .normal) const T* __restrict__ dout,
    IN(p.packed ? p.batch + 1 : 0) const i32* __restrict__ q_starts, IN(p.packed ? p.batch + 1 : 0) const i32* __restrict__ k_starts,
    OUT(key_rows(p) * p.head) T* __restrict__ dk, OUT(key_rows(p) * head_of_values()) T* __restrict__ dv,
    WORKSPACE(lines_of(p) * query_heads(p) * padded_queries(p, c) * 2) const float* __restrict__ terms,
    WORKSPACE_ZEROED(lines_of(p) * query_heads(p) * padded_queries(p, c) * (kPanels * 64)) float* __restrict__ dq_sums,
    TENSOR_MAP(q, .size = {p.head, p.layout == 1 ? query_heads(p) : p.queries, p.layout == 1 ? p.queries : query_heads(p), lines_of(p)},
               .box = {64, p.layout == 1 ? 1 : c.bm, p.layout == 1 ? c.bm : 1, 1}, .swizzle = 128) const __grid_constant__ TensorMap q_map,
    TENSOR_MAP(k, .size = {p.head, p.layout == 1 ? p.heads : p.keys, p.layout == 1 ? p.keys : p.heads, lines_of(p)},
               .box = {64, p.layout == 1 ? 1 : keys_of(c), p.layout == 1 ? keys_of(c) : 1, 1}, .swizzle = 128)
        const __grid_constant__ TensorMap k_map,
    TENSOR_MAP(v, .size = {head_of_values(), p.layout == 1 ? p.heads : p.keys, p.layout == 1 ? p.keys : p.heads, lines_of(p)},
               .box = {64, p.layout == 1 ? 1 : keys_of(c), p.layout == 1 ? keys_of(c) : 1, 1}, .swizzle = 128)
        const __grid_constant__ TensorMap v_map,
    TENSOR_MAP(dout,
               .size = {head_of_values(), p.layout == 1 ? query_heads(p) : p.queries, p.layout == 1 ? p.queries : query_heads(p),
                        lines_of(p)},
               .box = {64, p.layout == 1 ? 1 : c.bm, p.layout == 1 ? c.bm : 1, 1}, .swizzle = 128)
        const __grid_constant__ TensorMap dout_map,
    SCALAR(0.0883883) float scale, Problem p) {
#if defined(HONE_HOPPER)
  SHARED_DYNAMIC(unsigned char, memory);
  const SharedLayout<c> layout(memory);
  const KeyWork work = key_work_at<c>(p, (int)blockIdx.x, q_starts, k_starts);
  if (!work.exists) return;
  if (threadIdx.x == 0) {
    hopper::prefetch_tensor_map(q_map);
    hopper::prefetch_tensor_map(k_map);
    hopper::prefetch_tensor_map(v_map);
    hopper::prefetch_tensor_map(dout_map);
    init_barriers(layout);
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    if constexpr (c.consumers == 2) hopper::setmaxnreg_dec<24>();
    if (threadIdx.x == 0 && work.tiles > 0) Producer<c>{q_map, k_map, v_map, dout_map, terms, p, layout}.run(work);
  } else {
    if constexpr (c.consumers == 2) hopper::setmaxnreg_inc<240>();
    // The same in all threads of a warp, and the compiler is to know: products in loops that threads could leave one by one are serialized.
    const int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / 128 - 1, 0);
    Consumer<T, c> consumer{p, layout, dq_sums, group, (int)threadIdx.x % 128, scale * kLog2OfE};
    consumer.run(work);
    write_keys(consumer.sums, consumer.sums_of_values, dk, dv, scale, p, work, work.first + consumer.row());
  }
#endif
}

/// Rounds dq: a block has 64 rows.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(128) void attention_backward_wgmma_round(IN(p.packed ? p.batch + 1 : 0) const i32* __restrict__ q_starts,
                                                              IN(p.packed ? p.batch + 1 : 0) const i32* __restrict__ k_starts,
                                                              OUT(query_rows(p) * p.head) T* __restrict__ dq,
                                                              WORKSPACE_ZEROED(lines_of(p) * query_heads(p) * padded_queries(p, c) *
                                                                               (kPanels * 64)) const float* __restrict__ dq_sums,
                                                              SCALAR(0.0883883) float scale, Problem p) {
#if defined(HONE_HOPPER)
  constexpr int kSlice = slice_of(c), kSlices = kPanels * 64 / kSlice;
  const PaddedRow at = padded_row(p, blockIdx.x * 64L, padded_queries(p, c), c.bm, q_starts, k_starts);
  const float* const from = dq_sums + blockIdx.x * (64L * kPanels * 64) + threadIdx.x * 4;
  const long query = at.query + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
#pragma unroll
  for (int slice = 0; slice < kSlices; ++slice) {
    float sums[kSlice / 2];
#pragma unroll
    for (int i = 0; i < kSlice / 2; i += 4) {
      const auto four = load<4>(from + slice * (64 * kSlice) + i * 128);
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[i + e] = four[e];
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const long mine = query + r * 8;
      write_row<T>(sums, r, scale, dq + query_place(p, at.sequence, mine, at.head) + slice * kSlice, (int)Problem::head - slice * kSlice,
                   mine < at.sequence.queries);
    }
  }
#endif
}
