#pragma once
// The operation attention, which several kernels implement: out = softmax(scale * q k^T, over the keys that a query sees) v, for each
// sequence and head. What it is (cost and answer), and what its kernels share: where elements lie and which keys a query sees. Their
// Problems are the same; `head`, `causal` and `layout` are compiled in.

OPERATION(attention);

HONE_BOTH constexpr long query_heads(Problem p) { return p.heads * p.group; }
constexpr long query_rows(Problem p) { return p.batch * query_heads(p) * p.queries; }

/// Pairs of a query and a key that it does not see, of one sequence and head: those after it, and those before its window.
constexpr long hidden_behind(Problem p) { return p.causal ? p.queries * (p.queries - 1) / 2 : 0; }
constexpr long triangle(long n) { return n > 0 ? n * (n + 1) / 2 : 0; }
constexpr long hidden_by_window(Problem p) {
  if (p.window == 0) return 0;
  const long before = triangle(p.keys - p.window) - triangle(p.keys - p.window - p.queries);
  return p.causal ? before : before + triangle(p.queries - p.window);
}

template <class T>
constexpr Cost cost(Problem p) {
  return {.flops = 4.0 * p.batch * p.heads * p.group * p.head * (1.0 * p.queries * p.keys - hidden_behind(p) - hidden_by_window(p)),
          .bytes =
              2.0 * p.head * sizeof(T) * p.batch * p.heads * (p.group * p.queries + p.keys) + 4.0 * p.batch * p.heads * p.group * p.queries,
          .sum_length = 1.0 * p.keys};
}

/// Whether each query sees a key: one without keys has no answer.
constexpr bool has_answer(Problem p) { return (!p.causal && p.window == 0) || p.queries <= p.keys; }

/// The last query is beside the last key.
HONE_BOTH constexpr long position_of(Problem p, long query) { return query + p.keys - p.queries; }
/// The keys that the query at `position` sees: from first_key to before end_key.
HONE_BOTH constexpr long first_key(Problem p, long position) { return p.window == 0 ? 0 : max_of(0L, position - p.window + 1); }
HONE_BOTH constexpr long end_key(Problem p, long position) {
  return min_of(p.keys, Problem::causal ? position + 1 : p.window > 0 ? position + p.window : p.keys);
}

/// The place of an element in an array of [batch, tokens, heads, head] or [batch, heads, tokens, head] elements.
HONE_BOTH constexpr long token_stride(long heads) { return (Problem::layout == 1 ? heads : 1) * Problem::head; }
HONE_BOTH constexpr long head_stride(long tokens) { return (Problem::layout == 1 ? 1 : tokens) * Problem::head; }
HONE_BOTH constexpr long place_of(long sequence, long token, long head, long tokens, long heads) {
  return sequence * tokens * heads * Problem::head + token * token_stride(heads) + head * head_stride(tokens);
}

/// A row of elements in registers, for the reference.
struct Row {
  float element[Problem::head];
  template <class T>
  HONE_DEVICE explicit Row(const T* from) {
#pragma unroll
    for (int e = 0; e < Problem::head; ++e) element[e] = (float)from[e];
  }
  /// The product with another row. Eight products of narrow numbers, exact in float, are added in float before they are converted to
  /// double: that is off by 2^-22 of them at most, and several times as fast.
  template <class T>
  HONE_DEVICE double dot(const T* other) const {
    double sum = 0;
#pragma unroll
    for (int e = 0; e < Problem::head; e += 8) {
      float part = 0;
#pragma unroll
      for (int i = 0; i < 8; ++i) part += element[e + i] * (float)other[e + i];
      sum += part;
    }
    return sum;
  }
};

/// A query of the operation: row `row` of lse.
struct QueryRow {
  long sequence, head, query;
};
HONE_DEVICE QueryRow query_row(Problem p, long row) {
  return {row / p.queries / query_heads(p), row / p.queries % query_heads(p), row % p.queries};
}

/// The logarithm of the sum of exponentials of one query.
template <class T>
HONE_DEVICE void lse_at(long row, const T* q, const T* k, double* lse, float scale, Problem p) {
  const QueryRow at = query_row(p, row);
  const long position = position_of(p, at.query), end = end_key(p, position), step = token_stride(p.heads);
  const Row mine(q + place_of(at.sequence, at.query, at.head, p.queries, query_heads(p)));
  const T* const keys = k + place_of(at.sequence, 0, at.head / p.group, p.keys, p.heads);
  double most = -1e300, sum = 0;
  for (long key = first_key(p, position); key < end; ++key) {
    const double score = scale * mine.dot(keys + key * step);
    if (score > most) {
      sum *= exp(most - score);
      most = score;
    }
    sum += exp(score - most);
  }
  lse[row] = most + log(sum);
}

/// A share of the elements of one query's row of out.
constexpr long kShare = 32;
template <class T>
HONE_DEVICE void out_at(long i, const T* q, const T* k, const T* v, double* out, const double* lse, float scale, Problem p) {
  const long row = i / (Problem::head / kShare), first = i % (Problem::head / kShare) * kShare;
  const QueryRow at = query_row(p, row);
  const long position = position_of(p, at.query), end = end_key(p, position), step = token_stride(p.heads);
  const Row mine(q + place_of(at.sequence, at.query, at.head, p.queries, query_heads(p)));
  const long keys = place_of(at.sequence, 0, at.head / p.group, p.keys, p.heads);
  double sums[kShare] = {};
  for (long key = first_key(p, position); key < end; ++key) {
    const float weight = (float)exp(scale * mine.dot(k + keys + key * step) - lse[row]);
#pragma unroll
    for (int e = 0; e < kShare; ++e) sums[e] += weight * (float)v[keys + key * step + first + e];
  }
  const long to = place_of(at.sequence, at.query, at.head, p.queries, query_heads(p)) + first;
#pragma unroll
  for (int e = 0; e < kShare; ++e) out[to + e] = sums[e];
}
