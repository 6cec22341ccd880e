#pragma once
// The operation decode, which several kernels implement: attention of the last tokens of each sequence to all its tokens, whose keys and
// values lie in pages. table[sequence, page of the sequence] is the page of the cache: [pages, page, heads, head]. With pages as long as
// the longest sequence, the cache is contiguous. A sequence has at least as many tokens as queries. KV is the type of the cache's elements;
// those of 8 bits are multiplied by k_scale and v_scale of their head.
#include "reference_row.h"

OPERATION(decode);

HONE_BOTH constexpr long query_heads(Problem p) { return p.heads * p.group; }
HONE_BOTH constexpr long query_rows(Problem p) { return p.sequences * p.queries * query_heads(p); }
HONE_BOTH constexpr long pages_of_sequence(Problem p) { return ceil_div(p.longest, p.page); }
constexpr long cache_pages(Problem p) { return p.sequences * pages_of_sequence(p); }
constexpr long cache_elements(Problem p) { return cache_pages(p) * p.page * p.heads * p.head; }
/// Those of 8 bits have a scale for each head.
constexpr long scales_of(Problem p, long bytes) { return bytes == 1 ? p.heads : 0; }
constexpr long shortest(Problem p) { return p.longest - (p.longest - p.queries) * p.varied / 100; }

template <class T, class KV>
constexpr Cost cost(Problem p) {
  const double keys = 0.5 * p.sequences * (p.longest + shortest(p));  // in the mean
  return {.flops = 4.0 * keys * p.queries * p.heads * p.group * p.head,
          .bytes = 2.0 * p.heads * p.head * (sizeof(KV) * keys + sizeof(T) * p.sequences * p.queries * p.group),
          .sum_length = 1.0 * p.longest};
}

/// Row number `row` of q, out and lse, and the keys that it sees: those before `end`.
struct QueryRow {
  long sequence, head, end;
};
HONE_DEVICE QueryRow query_row(Problem p, long row, const i32* lengths) {
  const long head = row % query_heads(p), token = row / query_heads(p), sequence = token / p.queries;
  return {sequence, head / p.group, lengths[sequence] - p.queries + token % p.queries + 1};
}

/// What a head's keys or values are multiplied by.
template <class KV>
HONE_DEVICE float scale_of(const float* scales, long head) {
  if constexpr (sizeof(KV) > 1) return 1.0f;
  return scales[head];
}

/// The first element of a key or value in the cache, of head 0.
HONE_DEVICE long cache_place(Problem p, const i32* table, long sequence, long key) {
  return (table[sequence * pages_of_sequence(p) + key / p.page] * p.page + key % p.page) * p.heads * Problem::head;
}

using Row = RowOf<Problem::head>;

template <class T, class KV>
HONE_DEVICE void lse_at(long row, const T* q, const KV* k, const i32* table, const i32* lengths, const float* k_scale, double* lse,
                        float scale, Problem p) {
  const QueryRow at = query_row(p, row, lengths);
  const double factor = scale * scale_of<KV>(k_scale, at.head);
  const Row mine(q + row * Problem::head);
  double most = -1e300, sum = 0;
  for (long key = 0; key < at.end; ++key) {
    const double score = factor * mine.dot(k + cache_place(p, table, at.sequence, key) + at.head * Problem::head);
    if (score > most) {
      sum *= exp(most - score);
      most = score;
    }
    sum += exp(score - most);
  }
  lse[row] = most + log(sum);
}

/// A share of the elements of one row of out.
constexpr long kShare = 32;
template <class T, class KV>
HONE_DEVICE void out_at(long i, const T* q, const KV* k, const KV* v, const i32* table, const i32* lengths, const float* k_scale,
                        const float* v_scale, double* out, const double* lse, float scale, Problem p) {
  const long row = i / (Problem::head / kShare), first = i % (Problem::head / kShare) * kShare;
  const QueryRow at = query_row(p, row, lengths);
  const Row mine(q + row * Problem::head);
  const double factor = scale * scale_of<KV>(k_scale, at.head);
  double sums[kShare] = {};
  for (long key = 0; key < at.end; ++key) {
    const long place = cache_place(p, table, at.sequence, key) + at.head * Problem::head;
    const float weight = (float)exp(factor * mine.dot(k + place) - lse[row]);
    add_row(sums, weight, v + place + first);
  }
#pragma unroll
  for (int e = 0; e < kShare; ++e) out[row * Problem::head + first + e] = sums[e] * scale_of<KV>(v_scale, at.head);
}
