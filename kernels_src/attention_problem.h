#pragma once
// What attention is: out = softmax(scale * q k^T, over the keys that a query sees) v, for each sequence and head. Its cost and answer, and
// what its kernels share: where elements lie and which keys a query sees. Their Problems are the same, but for `value_head`, of which
// head_of_values() says what it is; `head`, `causal`, `layout` and `packed` are compiled in.
// Packed sequences differ in length and lie one after another, [tokens, heads, head]: sequence s has the tokens from q_starts[s] to before
// q_starts[s + 1] of q, out and lse ([heads, tokens]), and those of k_starts of k and v. A query that sees no key gives zeros, and lse
// -inf. Values are finite: products on tensor cores multiply those of keys beyond a sequence's end with weights of 0.
#include "reference_row.h"

HONE_BOTH constexpr long query_heads(Problem p) { return p.heads * p.group; }
/// Tokens of a sequence, of packed ones in the mean.
constexpr long queries_of_sequence(Problem p) { return p.packed ? ceil_div(p.queries, p.batch) : p.queries; }
constexpr long keys_of_sequence(Problem p) { return p.packed ? ceil_div(p.keys, p.batch) : p.keys; }
/// Rows of tokens of all sequences: packed ones are counted together.
HONE_BOTH constexpr long lines_of(Problem p) { return p.packed ? 1 : p.batch; }
constexpr long query_rows(Problem p) { return lines_of(p) * query_heads(p) * p.queries; }
constexpr long key_rows(Problem p) { return lines_of(p) * p.heads * p.keys; }

/// Pairs of a query and a key that it does not see, of one sequence (of this length) and head: those after it, and those before its window.
constexpr long triangle(long n) { return n > 0 ? n * (n + 1) / 2 : 0; }
constexpr long hidden_behind(Problem p, long queries, long keys) {
  if (!p.causal) return 0;
  return queries > keys ? queries * keys - triangle(keys) : triangle(queries - 1);
}
constexpr long hidden_by_window(Problem p, long queries, long keys) {
  if (p.window == 0) return 0;
  const long before = triangle(keys - p.window) - triangle(keys - p.window - queries);
  return p.causal ? before : before + triangle(queries - p.window) - triangle(queries - p.window - keys);
}
constexpr double seen_pairs(Problem p, long queries, long keys) {
  return 1.0 * queries * keys - hidden_behind(p, queries, keys) - hidden_by_window(p, queries, keys);
}
/// In the mean over packed sequences, whose lengths differ by a share of the difference of two uniform numbers: its square is 1/6. Where
/// queries and keys differ in number, their lengths do not go together.
constexpr double pairs_of(Problem p) {
  const double pairs = seen_pairs(p, queries_of_sequence(p), keys_of_sequence(p));
  return p.packed && p.queries == p.keys ? pairs * (1.0 + p.varied * p.varied / 60000.0) : pairs;
}

/// With elements of so many bytes in q, k and v, and in out.
constexpr Cost cost_of(Problem p, double operand, double result) {
  return {
      .flops = 2.0 * p.batch * p.heads * p.group * (p.head + head_of_values()) * pairs_of(p),
      .bytes = query_rows(p) * (p.head * operand + head_of_values() * result + 4.0) + key_rows(p) * (p.head + head_of_values()) * operand,
      .sum_length = 1.0 * p.keys};
}

/// Where packed sequences begin: all are of the mean length and up to p.varied percent longer or shorter.
template <class T>
INPUT(q_starts)
i32 q_starts_input(long i, Random& random, Problem p) {
  const double shift = i == 0 || i == p.batch ? 0.0 : p.varied / 100.0 * (random.uniform() - 0.5);
  return (i32)((i + shift) * p.queries / p.batch);
}
/// As many keys as queries, or lengths that differ otherwise: those of the queries, the last sequence's first. So some sequences have more
/// queries than keys, or no keys.
template <class T>
INPUT(k_starts)
i32 k_starts_input(long i, const i32* q_starts, Problem p) {
  return p.queries == p.keys ? q_starts[i] : (i32)(p.keys - q_starts[p.batch - i] * p.keys / p.queries);
}

/// Whether each query sees a key: one without keys has no answer, unless sequences are packed: then that depends on their lengths.
constexpr bool has_answer(Problem p) { return p.packed || (!p.causal && p.window == 0) || p.queries <= p.keys; }

/// The tokens of a sequence.
struct Sequence {
  long line;                    // its row of tokens
  long first_query, first_key;  // before its tokens in that line
  long queries, keys;
};
HONE_BOTH constexpr Sequence sequence_of(Problem p, long number, const i32* q_starts, const i32* k_starts) {
  if constexpr (Problem::packed) {
    const long query = q_starts[number], key = k_starts[number];
    return {0, query, key, q_starts[number + 1] - query, k_starts[number + 1] - key};
  } else {
    return {number, 0, 0, p.queries, p.keys};
  }
}

/// The last query is beside the last key.
HONE_BOTH constexpr long position_of(const Sequence& s, long query) { return query + s.keys - s.queries; }
/// The keys that the query at `position` sees: from first_key to before end_key.
HONE_BOTH constexpr long first_key(Problem p, long position) { return p.window == 0 ? 0 : max_of(0L, position - p.window + 1); }
HONE_BOTH constexpr long end_key(Problem p, const Sequence& s, long position) {
  return min_of(s.keys, Problem::causal ? position + 1 : p.window > 0 ? position + p.window : s.keys);
}

/// Places for tiles of `rows` queries, of a head in a line. Of packed sequences, number s has the places from q_starts[s] / rows + s on: as
/// many as it needs, or one more, which stays empty.
HONE_BOTH constexpr long tile_places(Problem p, long rows) { return p.packed ? p.queries / rows + p.batch : ceil_div(p.queries, rows); }
/// The packed sequence that a place belongs to, and which of its tiles that is.
struct SequenceTile {
  int sequence, tile;
};
HONE_BOTH constexpr SequenceTile tile_at_place(Problem p, long place, long rows, const i32* q_starts) {
  long low = 0, end = p.batch;
  while (end - low > 1) {
    const long middle = (low + end) / 2;
    if (q_starts[middle] / rows + middle <= place) {
      low = middle;
    } else {
      end = middle;
    }
  }
  return {(int)low, (int)(place - q_starts[low] / rows - low)};
}

/// The place of an element in an array of [batch, tokens, heads, elements] or [batch, heads, tokens, elements].
HONE_BOTH constexpr long token_stride(long heads, long elements = Problem::head) { return (Problem::layout == 1 ? heads : 1) * elements; }
HONE_BOTH constexpr long head_stride(long tokens, long elements) { return (Problem::layout == 1 ? 1 : tokens) * elements; }
HONE_BOTH constexpr long place_of(long line, long token, long head, long tokens, long heads, long elements) {
  return line * tokens * heads * elements + token * token_stride(heads, elements) + head * head_stride(tokens, elements);
}
/// Of q; with head_of_values(), of out.
HONE_BOTH constexpr long query_place(Problem p, const Sequence& s, long query, long head, long elements = Problem::head) {
  return place_of(s.line, s.first_query + query, head, p.queries, query_heads(p), elements);
}
/// Of k; with head_of_values(), of v.
HONE_BOTH constexpr long key_place(Problem p, const Sequence& s, long key, long head, long elements = Problem::head) {
  return place_of(s.line, s.first_key + key, head / p.group, p.keys, p.heads, elements);
}
HONE_BOTH constexpr long lse_place(Problem p, const Sequence& s, long query, long head) {
  return (s.line * query_heads(p) + head) * p.queries + s.first_query + query;
}

using Row = RowOf<Problem::head>;

/// A query of the operation: row `row` of lse.
struct QueryRow {
  Sequence sequence;
  long head, query;
};
HONE_DEVICE QueryRow query_row(Problem p, long row, const i32* q_starts, const i32* k_starts) {
  const long line = row / p.queries, token = row % p.queries;
  if constexpr (Problem::packed) {
    long number = 0;
    while (number + 1 < p.batch && q_starts[number + 1] <= token) ++number;
    return {sequence_of(p, number, q_starts, k_starts), line, token - q_starts[number]};
  }
  return {sequence_of(p, line / query_heads(p), q_starts, k_starts), line % query_heads(p), token};
}

/// The logarithm of the sum of exponentials of one query.
template <class T>
HONE_DEVICE double lse_of(long row, const T* q, const T* k, const i32* q_starts, const i32* k_starts, float scale, Problem p) {
  const QueryRow at = query_row(p, row, q_starts, k_starts);
  const long position = position_of(at.sequence, at.query), end = end_key(p, at.sequence, position), step = token_stride(p.heads);
  const Row mine(q + query_place(p, at.sequence, at.query, at.head));
  const T* const keys = k + key_place(p, at.sequence, 0, at.head);
  double most = -1e300, sum = 0;
  for (long key = first_key(p, position); key < end; ++key) {
    const double score = scale * mine.dot(keys + key * step);
    if (score > most) {
      sum *= exp(most - score);
      most = score;
    }
    sum += exp(score - most);
  }
  return most + log(sum);
}

/// A share of the elements of one query's row of out; values are multiplied by `of_values`.
constexpr long kShare = 32;
template <class T, class Out, class Lse>
HONE_DEVICE void out_at(long i, const T* q, const T* k, const T* v, const i32* q_starts, const i32* k_starts, Out* out, const Lse* lse,
                        float scale, Problem p, float of_values = 1.0f) {
  const long row = i / (head_of_values() / kShare), first = i % (head_of_values() / kShare) * kShare;
  const QueryRow at = query_row(p, row, q_starts, k_starts);
  const long position = position_of(at.sequence, at.query), end = end_key(p, at.sequence, position), step = token_stride(p.heads);
  const Row mine(q + query_place(p, at.sequence, at.query, at.head));
  const long keys = key_place(p, at.sequence, 0, at.head);
  const T* const values = v + key_place(p, at.sequence, 0, at.head, head_of_values()) + first;
  const long step_of_values = token_stride(p.heads, head_of_values());
  double sums[kShare] = {};
  for (long key = first_key(p, position); key < end; ++key) {
    const float weight = (float)exp(scale * mine.dot(k + keys + key * step) - lse[row]);
    add_row(sums, weight, values + key * step_of_values);
  }
  const long to = query_place(p, at.sequence, at.query, at.head, head_of_values()) + first;
#pragma unroll
  for (int e = 0; e < kShare; ++e) out[to + e] = (Out)(sums[e] * of_values);
}
