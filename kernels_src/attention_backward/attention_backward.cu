// The backward pass of attention: dq, dk and dv from dout, attention's out and the logarithm of its sum of exponentials. For any device; no
// tensor cores.
#include <hone/kernel.h>

#include "../approximate.h"
#include "../packet.h"

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

// A few threads share a row: each has some of its elements. The first pass has rows of q, which read the same keys; the second rows of k
// and v, which read the same queries.
struct Config {
  TUNE(4, 8, 16, 32, 64) int rows = 16;    // of a block
  TUNE(1, 2, 4, 8, 16, 32) int lanes = 8;  // threads of a row: fewer exchange less, more have shorter rows in registers
  TUNE(1, 2, 4, 8) int vec = 4;            // elements in one access
  TUNE(1, 2, 4, 8) int step = 4;           // keys, or queries, at a time: their sums are independent
};
#include "../attention_backward.h"

HONE_BOTH constexpr int threads_of(const Config& c) { return c.rows * c.lanes; }

template <class T>
constexpr bool valid(Problem p, Config c, Device d) {
  if (p.packed && p.layout != 1) return false;                                          // tokens are the outer axis
  if (!has_answer(p)) return false;                                                     // queries without keys
  if (p.head % 32 != 0 || p.value_head % 32 != 0) return false;                         // the answer is computed in shares of 32
  if (threads_of(c) > d.threads_per_block) return false;                                // the device's limit
  if (threads_of(c) % d.warp_size != 0) return false;                                   // whole warps exchange their parts
  if (c.vec * sizeof(T) > 16) return false;                                             // the widest access there is
  return p.head % (c.lanes * c.vec) == 0 && head_of_values() % (c.lanes * c.vec) == 0;  // whole accesses
}

template <class T>
constexpr bool likely(Problem p, Config c, Device d) {
  if ((2 + c.step) * (p.head + head_of_values()) / c.lanes > 180) return false;  // spills: rows, sums and a step are in registers
  return c.vec * sizeof(T) >= 8;                                                 // narrow accesses take more of them
}

constexpr Launch launch_attention_backward(Problem p, Config c) {
  return {.grid = {tile_places(p, c.rows), query_heads(p), lines_of(p)}, .block = {threads_of(c)}};
}
constexpr Launch launch_attention_backward_keys(Problem p, Config c) {
  return {.grid = {key_tile_places(p, c.rows), p.heads, lines_of(p)}, .block = {threads_of(c)}};
}

template <class T>
REFERENCE(query_rows(p) * p.head / 32)
TOLERANCE(dq, .absolute = sizeof(T) > 2 ? 2e-4 : 0.02,
          .relative = sizeof(T) > 2 ? 2e-4 : 0.01) void attention_backward_reference(long i, const T* q, const T* k, const T* v,
                                                                                     const T* out, const T* dout, const float* lse,
                                                                                     const i32* q_starts, const i32* k_starts, double* dq,
                                                                                     float scale, Problem p) {
  dq_at(i, q, k, v, out, dout, lse, q_starts, k_starts, dq, scale, p);
}
template <class T>
REFERENCE(key_rows(p) * p.head / 32)
TOLERANCE(dk, .absolute = sizeof(T) > 2 ? 2e-4 : 0.02,
          .relative = sizeof(T) > 2 ? 2e-4 : 0.01) void attention_backward_reference_dk(long i, const T* q, const T* k, const T* v,
                                                                                        const T* out, const T* dout, const float* lse,
                                                                                        const i32* q_starts, const i32* k_starts,
                                                                                        double* dk, float scale, Problem p) {
  key_gradient_at<T, false>(i, q, k, v, out, dout, lse, q_starts, k_starts, dk, scale, p);
}
template <class T>
REFERENCE(key_rows(p) * head_of_values() / 32)
TOLERANCE(dv, .absolute = sizeof(T) > 2 ? 2e-4 : 0.02,
          .relative = sizeof(T) > 2 ? 2e-4 : 0.01) void attention_backward_reference_dv(long i, const T* q, const T* k, const T* v,
                                                                                        const T* out, const T* dout, const float* lse,
                                                                                        const i32* q_starts, const i32* k_starts,
                                                                                        double* dv, float scale, Problem p) {
  key_gradient_at<T, true>(i, q, k, v, out, dout, lse, q_starts, k_starts, dv, scale, p);
}

template <class T>
ACCEPT(query_rows(p) + key_rows(p))
bool attention_backward_accept(long row, const T* v, const T* out, const T* dout, const T* dq, const T* dk, const T* dv,
                               const double* expected_dq, const double* expected_dk, const double* expected_dv, float scale, Problem p) {
  return are_rows_right(row, v, out, dout, dq, dk, dv, expected_dq, expected_dk, expected_dv, scale, p);
}

SHAPES({.batch = 1, .heads = 1, .group = 2, .queries = 129, .keys = 193}, {.batch = 2, .heads = 2, .queries = 5, .keys = 5},
       {.batch = 1, .heads = 1, .queries = 65, .keys = 300, .window = 70},
       {.batch = 5, .heads = 1, .queries = 200, .keys = 260, .varied = 100},
       {.batch = 12, .heads = 1, .queries = 10, .keys = 12, .varied = 100},
       {.batch = 3, .heads = 1, .queries = 150, .keys = 210, .window = 30, .varied = 100});

#include "../attention_part.h"

/// dq, and delta for the second pass.
template <class T, Config c>
KERNEL DTYPES(f32, f16, bf16) LAUNCH_BOUNDS(threads_of(c)) void attention_backward(
    IN(query_rows(p) * p.head, .normal) const T* __restrict__ q, IN(key_rows(p) * p.head, .normal) const T* __restrict__ k,
    IN(key_rows(p) * head_of_values(), .normal) const T* __restrict__ v, IN(query_rows(p) * head_of_values()) const T* __restrict__ out,
    IN(query_rows(p) * head_of_values(), .normal) const T* __restrict__ dout, IN(query_rows(p)) const float* __restrict__ lse,
    IN(p.packed ? p.batch + 1 : 0) const i32* __restrict__ q_starts, IN(p.packed ? p.batch + 1 : 0) const i32* __restrict__ k_starts,
    OUT(query_rows(p) * p.head) T* __restrict__ dq, OUT(key_rows(p) * p.head) T* __restrict__ dk,
    OUT(key_rows(p) * head_of_values()) T* __restrict__ dv, WORKSPACE(query_rows(p)) float* __restrict__ deltas,
    SCALAR(0.0883883) float scale, Problem p) {
  long number = blockIdx.z, tile = blockIdx.x;
  if constexpr (Problem::packed) {
    const SequenceTile at = tile_at_place(p, blockIdx.x, c.rows, q_starts);
    number = at.sequence;
    tile = at.tile;
  }
  const Sequence s = sequence_of(p, number, q_starts, k_starts);
  const long head = blockIdx.y, first = tile * c.rows;
  if (first >= s.queries) return;  // an empty place
  const long mine = first + (long)threadIdx.x / c.lanes, query = min_of(mine, s.queries - 1), last = min_of(first + c.rows, s.queries) - 1;
  const long begin = first_key(p, position_of(s, query)), end = end_key(p, s, position_of(s, query));
  const long of_out = query_place(p, s, query, head, head_of_values());
  const T* const keys = k + key_place(p, s, 0, head);
  const T* const values = v + key_place(p, s, 0, head, head_of_values());
  const long stride = token_stride(p.heads), stride_of_values = token_stride(p.heads, head_of_values());
  Part<T, c> of_q, of_k[c.step], sums;
  Part<T, c, (int)head_of_values()> of_dout, of_v[c.step];
  of_q.load_from(q + query_place(p, s, query, head));
  of_dout.load_from(dout + of_out);
  of_v[0].load_from(out + of_out);
  const float delta = sum_of_lanes<c>(of_dout.dot(of_v[0])), factor = scale * kLog2OfE;
  const float offset = lse[lse_place(p, s, query, head)] * kLog2OfE;
  for (long key = first_key(p, position_of(s, first)); key < end_key(p, s, position_of(s, last)); key += c.step) {
#pragma unroll
    for (int i = 0; i < c.step; ++i) {
      of_k[i].load_from(keys + min_of(key + i, s.keys - 1) * stride);
      of_v[i].load_from(values + min_of(key + i, s.keys - 1) * stride_of_values);
    }
#pragma unroll
    for (int i = 0; i < c.step; ++i) {
      const float score = sum_of_lanes<c>(of_q.dot(of_k[i])), product = sum_of_lanes<c>(of_dout.dot(of_v[i]));
      const bool is_seen = key + i >= begin && key + i < end;
      sums.add(is_seen ? power_of_two(score * factor - offset) * (product - delta) : 0.0f, of_k[i]);
    }
  }
  if (mine > last) return;
  sums.scale(scale);
  sums.write(dq + query_place(p, s, query, head));
  if (threadIdx.x % c.lanes == 0) deltas[lse_place(p, s, query, head)] = delta;
}

/// dk and dv.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(threads_of(c)) void attention_backward_keys(
    IN(query_rows(p) * p.head, .normal) const T* __restrict__ q, IN(key_rows(p) * p.head, .normal) const T* __restrict__ k,
    IN(key_rows(p) * head_of_values(), .normal) const T* __restrict__ v,
    IN(query_rows(p) * head_of_values(), .normal) const T* __restrict__ dout, IN(query_rows(p)) const float* __restrict__ lse,
    IN(p.packed ? p.batch + 1 : 0) const i32* __restrict__ q_starts, IN(p.packed ? p.batch + 1 : 0) const i32* __restrict__ k_starts,
    OUT(key_rows(p) * p.head) T* __restrict__ dk, OUT(key_rows(p) * head_of_values()) T* __restrict__ dv,
    WORKSPACE(query_rows(p)) const float* __restrict__ deltas, SCALAR(0.0883883) float scale, Problem p) {
  long number = blockIdx.z, tile = blockIdx.x;
  if constexpr (Problem::packed) {
    const SequenceTile at = tile_at_place(p, blockIdx.x, c.rows, k_starts);
    number = at.sequence;
    tile = at.tile;
  }
  const Sequence s = sequence_of(p, number, q_starts, k_starts);
  const long head = blockIdx.y, first = tile * c.rows;
  if (first >= s.keys) return;  // an empty place
  const long mine = first + (long)threadIdx.x / c.lanes, key = min_of(mine, s.keys - 1), last = min_of(first + c.rows, s.keys) - 1;
  const long begin = first_query(p, s, key), end = end_query(p, s, key);
  const float factor = scale * kLog2OfE;
  Part<T, c> of_q[c.step], of_k, sums;
  Part<T, c, (int)head_of_values()> of_dout[c.step], of_v, sums_of_values;
  of_k.load_from(k + key_place(p, s, key, head * p.group));
  of_v.load_from(v + key_place(p, s, key, head * p.group, head_of_values()));
  for (long reader = head * p.group; reader < (head + 1) * p.group; ++reader) {
    for (long query = first_query(p, s, first); query < end_query(p, s, last); query += c.step) {
#pragma unroll
      for (int i = 0; i < c.step; ++i) {
        of_q[i].load_from(q + query_place(p, s, min_of(query + i, s.queries - 1), reader));
        of_dout[i].load_from(dout + query_place(p, s, min_of(query + i, s.queries - 1), reader, head_of_values()));
      }
#pragma unroll
      for (int i = 0; i < c.step; ++i) {
        const float score = sum_of_lanes<c>(of_q[i].dot(of_k)), product = sum_of_lanes<c>(of_dout[i].dot(of_v));
        const long row = lse_place(p, s, min_of(query + i, s.queries - 1), reader);
        const bool sees = query + i >= begin && query + i < end;
        const float weight = sees ? power_of_two(score * factor - lse[row] * kLog2OfE) : 0.0f;
        sums_of_values.add(weight, of_dout[i]);
        sums.add(weight * (product - deltas[row]), of_q[i]);
      }
    }
  }
  if (mine > last) return;
  sums.scale(scale);
  sums.write(dk + key_place(p, s, key, head * p.group));
  sums_of_values.write(dv + key_place(p, s, key, head * p.group, head_of_values()));
}
