#pragma once
// The operation attention_backward, which several kernels implement: what a loss changes by q, k and v (dq, dk, dv), from what it changes
// by attention's out (dout). With weights P = exp(scale * q k^T - lse) of the pairs that attention sees and delta = the sum of dout * out
// over a row's elements: dv = P^T dout, dS = P * (dout v^T - delta), dq = scale * dS k, dk = scale * dS^T q (Dao, arXiv 2205.14135). Heads
// of k and v that several heads of q share get the sum over those.

/// Elements of a head of v and out.
HONE_BOTH constexpr long head_of_values() { return Problem::value_head == 0 ? Problem::head : Problem::value_head; }

#include "attention_problem.h"

OPERATION(attention_backward);

constexpr float kLog2OfE = 1.44269504f;

template <class T>
constexpr Cost cost(Problem p) {
  return {.flops = 2.0 * p.batch * p.heads * p.group * (3 * p.head + 2 * head_of_values()) * pairs_of(p),
          .bytes = query_rows(p) * ((2.0 * p.head + 2.0 * head_of_values()) * sizeof(T) + 4.0) +
                   2.0 * key_rows(p) * (p.head + head_of_values()) * sizeof(T),
          .sum_length = 1.0 * max_of(p.queries * p.group, p.keys)};
}

// out and lse are attention's own.
template <class T>
INPUT(lse)
float lse_input(long row, const T* q, const T* k, const i32* q_starts, const i32* k_starts, float scale, Problem p) {
  return (float)lse_of(row, q, k, q_starts, k_starts, scale, p);
}
template <class T>
INPUT(out, query_rows(p) * head_of_values() / 32)
void out_input(long i, const T* q, const T* k, const T* v, const i32* q_starts, const i32* k_starts, T* out, const float* lse, float scale,
               Problem p) {
  out_at(i, q, k, v, q_starts, k_starts, out, lse, scale, p);
}

/// The queries that see a key: from first_query to before end_query.
HONE_BOTH constexpr long first_query(Problem p, const Sequence& s, long key) {
  const long before = s.keys - s.queries;  // where the first query is
  return Problem::causal ? max_of(0L, key - before) : p.window > 0 ? max_of(0L, key - p.window + 1 - before) : 0;
}
HONE_BOTH constexpr long end_query(Problem p, const Sequence& s, long key) {
  return p.window > 0 ? min_of(s.queries, key + p.window - (s.keys - s.queries)) : s.queries;
}

/// As tile_places(), for tiles of keys.
HONE_BOTH constexpr long key_tile_places(Problem p, long rows) { return p.packed ? p.keys / rows + p.batch : ceil_div(p.keys, rows); }

/// A key of the operation: a row of k and v without its elements, as [lines, heads, keys].
struct KeyRow {
  Sequence sequence;
  long head, key;  // the head of k and v
};
HONE_DEVICE KeyRow key_row(Problem p, long row, const i32* q_starts, const i32* k_starts) {
  const long line = row / p.keys, token = row % p.keys;
  if constexpr (Problem::packed) {
    long number = 0;
    while (number + 1 < p.batch && k_starts[number + 1] <= token) ++number;
    return {sequence_of(p, number, q_starts, k_starts), line, token - k_starts[number]};
  }
  return {sequence_of(p, line / p.heads, q_starts, k_starts), line % p.heads, token};
}

/// What a pair of a query and a key says: `weight` P and `change` dS.
struct Pair {
  double weight, change;
};
HONE_DEVICE Pair pair_of(double score, double product, double lse, double delta) {
  const double weight = exp(score - lse);
  return {weight, weight * (product - delta)};
}
/// The product of two rows of out.
template <class T>
HONE_DEVICE double dot_of_values(const T* a, const T* b) {
  double sum = 0;
#pragma unroll
  for (int e = 0; e < head_of_values(); e += 8) sum += Eight<T>(a + e).dot(Eight<T>(b + e).element);
  return sum;
}

/// A share of the elements of a query's row of dq.
template <class T>
HONE_DEVICE void dq_at(long i, const T* q, const T* k, const T* v, const T* out, const T* dout, const float* lse, const i32* q_starts,
                       const i32* k_starts, double* dq, float scale, Problem p) {
  const long row = i / (Problem::head / kShare), first = i % (Problem::head / kShare) * kShare;
  const QueryRow at = query_row(p, row, q_starts, k_starts);
  const long position = position_of(at.sequence, at.query), end = end_key(p, at.sequence, position);
  const long place = query_place(p, at.sequence, at.query, at.head), step = token_stride(p.heads);
  const long of_out = query_place(p, at.sequence, at.query, at.head, head_of_values()),
             step_of_values = token_stride(p.heads, head_of_values());
  const long keys = key_place(p, at.sequence, 0, at.head), values = key_place(p, at.sequence, 0, at.head, head_of_values());
  const Row mine(q + place);
  const double delta = dot_of_values(out + of_out, dout + of_out);
  double sums[kShare] = {};
  for (long key = first_key(p, position); key < end; ++key) {
    const T* const of_k = k + keys + key * step;
    const Pair pair = pair_of(scale * mine.dot(of_k), dot_of_values(dout + of_out, v + values + key * step_of_values), lse[row], delta);
    add_row(sums, (float)pair.change, of_k + first);
  }
#pragma unroll
  for (int e = 0; e < kShare; ++e) dq[place + first + e] = sums[e] * scale;
}

/// A share of the elements of a key's row of dk, or `of_values`, of dv.
template <class T, bool of_values>
HONE_DEVICE void key_gradient_at(long i, const T* q, const T* k, const T* v, const T* out, const T* dout, const float* lse,
                                 const i32* q_starts, const i32* k_starts, double* to, float scale, Problem p) {
  constexpr long kElements = of_values ? head_of_values() : Problem::head;
  const long row = i / (kElements / kShare), first = i % (kElements / kShare) * kShare;
  const KeyRow at = key_row(p, row, q_starts, k_starts);
  const Sequence& s = at.sequence;
  const Row mine(k + key_place(p, s, at.key, at.head * p.group));
  const T* const value = v + key_place(p, s, at.key, at.head * p.group, head_of_values());
  const long begin = first_query(p, s, at.key), end = end_query(p, s, at.key);
  double sums[kShare] = {};
  for (long head = at.head * p.group; head < (at.head + 1) * p.group; ++head) {
    for (long query = begin; query < end; ++query) {
      const T* const of_q = q + query_place(p, s, query, head);
      const long place = query_place(p, s, query, head, head_of_values());
      const double weight = exp(scale * mine.dot(of_q) - lse[lse_place(p, s, query, head)]);
      if constexpr (of_values) {
        add_row(sums, (float)weight, dout + place + first);
      } else {
        const float change = (float)(weight * (dot_of_values(dout + place, value) - dot_of_values(dout + place, out + place)));
        add_row(sums, change, of_q + first);
      }
    }
  }
  const long place = key_place(p, s, at.key, at.head * p.group, kElements) + first;
#pragma unroll
  for (int e = 0; e < kShare; ++e) to[place + e] = of_values ? sums[e] : sums[e] * scale;
}

/// How far a row may be off, beside the bounds of single elements: these are as large as the results where there are many keys, and a block
/// of keys that is left out would pass. Products are of weights and changes that were rounded to T, so that the difference is a share of
/// the row, or where its terms cancel `floor`; both are of its root mean square.
template <class T>
HONE_DEVICE bool is_right_row(const T* made, const double* expected, long elements, double floor) {
  constexpr double kShare = sizeof(T) > 2 ? 1e-4 : 0.01, kLeast = sizeof(T) > 2 ? 1e-5 : 2e-4;
  double off = 0, size = 0;
  for (long e = 0; e < elements; ++e) {
    const double difference = (double)(float)made[e] - expected[e];
    off += difference * difference;
    size += expected[e] * expected[e];
  }
  return sqrt(off / elements) <= kShare * sqrt(size / elements) + kLeast + floor;  // not where an element is no number
}
/// Row number `row` of those of dq, then of dk and dv. Differences of dout v^T and delta are off by a share of the terms that cancel there,
/// which sums in float are off by.
template <class T>
HONE_DEVICE bool are_rows_right(long row, const T* v, const T* out, const T* dout, const T* dq, const T* dk, const T* dv,
                                const double* expected_dq, const double* expected_dk, const double* expected_dv, float scale, Problem p) {
  constexpr long kValues = head_of_values();
  constexpr double kCancelled = 3e-5;
  double terms = 0;
  if (row < query_rows(p)) {
    for (long e = 0; e < kValues; ++e) terms += fabs((double)(float)dout[row * kValues + e] * (double)(float)out[row * kValues + e]);
    return is_right_row(dq + row * p.head, expected_dq + row * p.head, p.head, kCancelled * fabs((double)scale) * terms);
  }
  row -= query_rows(p);
  for (long e = 0; e < kValues; ++e) terms += fabs(expected_dv[row * kValues + e] * (double)(float)v[row * kValues + e]);
  return is_right_row(dk + row * p.head, expected_dk + row * p.head, p.head, kCancelled * fabs((double)scale) * terms) &&
         is_right_row(dv + row * kValues, expected_dv + row * kValues, kValues, 0.0);
}
