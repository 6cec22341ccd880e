#pragma once
// The operation decode_latent, which several kernels implement: decoding over a latent cache (multi-head latent attention). All heads of q
// share one line of the cache for each token: a key is the whole line, latent and rotated part; a value is its latent part. The cache lies
// in pages: table[sequence, page of the sequence] is the page of [pages, page, latent + rope]. A sequence has at least as many tokens as
// queries.
#include "decode_parts.h"
#include "reference_row.h"

OPERATION(decode_latent);

constexpr long kLineOfCache = Problem::latent + Problem::rope;  // elements

HONE_BOTH constexpr long rows_of_sequence(Problem p) { return p.queries * p.heads; }
HONE_BOTH constexpr long query_rows(Problem p) { return p.sequences * rows_of_sequence(p); }
/// Blocks that a part of a sequence has; those of a cluster have the same keys.
HONE_BOTH constexpr long tiles_of_sequence(Problem p, const Config& c) {
  return round_up(ceil_div(rows_of_sequence(p), rows_of_block(c)), cluster_of(c));
}
HONE_BOTH constexpr long pages_of_sequence(Problem p) { return ceil_div(p.longest, p.page); }
constexpr long cache_pages(Problem p) { return p.sequences * pages_of_sequence(p); }
constexpr long shortest(Problem p) { return p.longest - (p.longest - p.queries) * p.varied / 100; }
/// Keys of a part: whole steps.
HONE_BOTH constexpr long part_keys(Problem p, const Config& c) {
  if (c.split > 0) return round_up(ceil_div(p.longest, (long)c.split), (long)c.bn);
  return keys_by_shape(p.longest, p.sequences * tiles_of_sequence(p, c), kMultiprocessors * residency_of(c) * c.waves, c.bn);
}
HONE_BOTH constexpr long parts_of(Problem p, const Config& c) {
  return c.split > 0 ? c.split : ceil_div((int)p.longest, (int)part_keys(p, c));
}

template <class T>
constexpr Cost cost(Problem p) {
  const double keys = 0.5 * p.sequences * (p.longest + shortest(p));  // in the mean
  return {.flops = 2.0 * keys * rows_of_sequence(p) * (2 * p.latent + p.rope),
          .bytes = sizeof(T) * (keys * (p.latent + p.rope) + query_rows(p) * (2.0 * p.latent + p.rope)),
          .sum_length = 1.0 * p.longest};
}

/// The line of a key in the cache.
HONE_DEVICE long cache_line(Problem p, const i32* table, long sequence, long key) {
  return table[sequence * pages_of_sequence(p) + key / p.page] * p.page + key % p.page;
}
/// The end of the keys that row number `row` of its sequence sees.
HONE_DEVICE long end_of_row(Problem p, int row, long length) { return length - p.queries + row / (int)p.heads + 1; }

/// The product of a row of q and a line of the cache.
template <class T>
HONE_DEVICE double score_of(const T* q, const T* line) {
  double sum = 0;
  for (int e = 0; e < kLineOfCache; e += 8) sum += Eight<T>(q + e).dot(Eight<T>(line + e).element);
  return sum;
}

template <class T>
HONE_DEVICE void lse_at(long row, const T* q, const T* cache, const i32* table, const i32* lengths, double* lse, float scale, Problem p) {
  const long sequence = row / rows_of_sequence(p), end = end_of_row(p, (int)(row % rows_of_sequence(p)), lengths[sequence]);
  double most = -1e300, sum = 0;
  for (long key = 0; key < end; ++key) {
    const double score = scale * score_of(q + row * kLineOfCache, cache + cache_line(p, table, sequence, key) * kLineOfCache);
    if (score > most) {
      sum *= exp(most - score);
      most = score;
    }
    sum += exp(score - most);
  }
  lse[row] = most + log(sum);
}

/// A share of the elements of one row of out.
constexpr long kShare = 64;
template <class T>
HONE_DEVICE void out_at(long i, const T* q, const T* cache, const i32* table, const i32* lengths, double* out, const double* lse,
                        float scale, Problem p) {
  const long row = i / (Problem::latent / kShare), first = i % (Problem::latent / kShare) * kShare;
  const long sequence = row / rows_of_sequence(p), end = end_of_row(p, (int)(row % rows_of_sequence(p)), lengths[sequence]);
  double sums[kShare] = {};
  for (long key = 0; key < end; ++key) {
    const T* const line = cache + cache_line(p, table, sequence, key) * kLineOfCache;
    add_row(sums, (float)exp(scale * score_of(q + row * kLineOfCache, line) - lse[row]), line + first);
  }
  for (int e = 0; e < kShare; ++e) out[row * Problem::latent + first + e] = sums[e];
}

/// The second pass: adds up the parts of each row; warps have 64 columns of one.
template <class T, Config c>
HONE_DEVICE void add_latent_parts(const i32* lengths, T* out, float* lse, const float* part_out, const float* part_lse, Problem p) {
  const int most = (int)parts_of(p, c);
  const long rows = query_rows(p), item = (blockIdx.x * (long)kSumWarps + threadIdx.x / 32) / warps_of_row(most);
  const long row = item / (Problem::latent / 64);
  const int column = (int)(item % (Problem::latent / 64) * 64 + threadIdx.x % 32 * 2);
  const int sequence = (int)min_of(row, rows - 1) / (int)rows_of_sequence(p);
  hopper::grid_dependency_wait_after(lengths + sequence, part_lse + row);
  launch_dependents();
  const int parts = ceil_div(lengths[sequence], (int)part_keys(p, c));
  add_split<T, c.split, (int)Problem::latent>(most, parts, rows, row, column, part_out, part_lse, out, lse);
}
