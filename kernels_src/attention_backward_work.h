#pragma once
// Which keys a block of the pass over keys has, which queries it multiplies, and how results are written.
#include "attention_rows.h"

/// A block's keys, and its steps: tiles of queries of each head of q, one head after another.
struct KeyWork {
  Sequence sequence;
  int number, head, first;  // of the sequence; the head of k and v; the first key
  int begin, tiles;         // the first tile of queries that see any, and how many
  bool exists;              // it is no empty place
};
/// Block number `index`. Heads run in groups of c.raster, so that what they read stays in L2; of a group, the first keys, which most
/// queries see, come first.
template <Config c>
HONE_DEVICE KeyWork key_work_at(Problem p, int index, const i32* q_starts, const i32* k_starts) {
  const int heads = (int)(lines_of(p) * p.heads), places = (int)key_tile_places(p, keys_of(c));
  const int group = index / (c.raster * places), within = index - group * c.raster * places,
            high = min_of(c.raster, heads - group * c.raster);
  int place = within / high;
  const int head = group * c.raster + within - place * high;
  KeyWork work = {};
  work.number = head / (int)p.heads;
  work.head = head - work.number * (int)p.heads;
  if constexpr (Problem::packed) {
    const SequenceTile at = tile_at_place(p, place, keys_of(c), k_starts);
    work.number = at.sequence;
    place = at.tile;
  }
  const Sequence s = work.sequence = sequence_of(p, work.number, q_starts, k_starts);
  work.first = place * keys_of(c);
  work.exists = work.first < s.keys;
  if (!work.exists) return work;
  const long last = min_of((long)work.first + keys_of(c), s.keys) - 1;
  work.begin = (int)(first_query(p, s, work.first) / c.bm);
  work.tiles = max_of(0, (int)ceil_div(end_query(p, s, last), (long)c.bm) - work.begin);
  return work;
}
/// Whether the queries of a tile all see all of `keys` keys, so far as those queries exist.
template <Config c>
HONE_DEVICE bool sees_all(Problem p, const Sequence& s, long key, int keys, int first_of_tile) {
  return key + keys <= s.keys && first_of_tile >= first_query(p, s, key + keys - 1) &&
         (p.window == 0 || first_of_tile + c.bm <= end_query(p, s, key));
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
/// Weights of row r become 0 but from `begin` to before `end`; `first` is the block's first column.
template <int n>
HONE_DEVICE void keep_between(float (&weights)[n], int r, long begin, long end, int first) {
  const int column = first + threadIdx.x % 4 * 2, left = (int)begin - column, right = (int)end - column;
#pragma unroll
  for (int i = 0; i < n / 2; ++i) {
    float& weight = weights[TwoRows::element(i, r)];
    weight = i / 2 * 8 + i % 2 >= left && i / 2 * 8 + i % 2 < right ? weight : 0.0f;
  }
}
/// Weights of keys `key` and 8 further are kept where the tile's queries, from `first` on, see them.
template <int n>
HONE_DEVICE void keep_readers(float (&weights)[n], Problem p, const Sequence& s, long key, int first) {
#pragma unroll
  for (int r = 0; r < 2; ++r, key += 8) {
    keep_between(weights, r, first_query(p, s, key), key < s.keys ? end_query(p, s, key) : 0, first);
  }
}

/// Writes `elements` elements of row r of sums, times `factor`, 16 bytes at a time. All lanes of a warp call it.
template <class T, int n>
HONE_DEVICE void write_row(const float (&sums)[n], int r, float factor, T* to, int elements, bool exists) {
#pragma unroll
  for (int i = 0; i < n / 4; i += 4) {
    if (i * 8 >= elements) break;
    unsigned words[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) words[e] = pair_bits<T>(sums[4 * (i + e) + 2 * r] * factor, sums[4 * (i + e) + 2 * r + 1] * factor);
    TwoRows::transpose_quad(words);
    if (exists) {
      store_global(reinterpret_cast<unsigned*>(to + i * 8 + threadIdx.x % 4 * 8),
                   Vector<unsigned, 4>{words[0], words[1], words[2], words[3]});
    }
  }
}

/// Writes dk and dv of keys `key` and 8 further.
template <class T, int n, int n_values>
HONE_DEVICE void write_keys(const float (&sums)[n], const float (&sums_of_values)[n_values], T* dk, T* dv, float scale, Problem p,
                            const KeyWork& work, long key) {
  const Sequence& s = work.sequence;
  const long head = work.head * p.group;
#pragma unroll
  for (int r = 0; r < 2; ++r, key += 8) {
    write_row<T>(sums, r, scale, dk + key_place(p, s, key, head), (int)Problem::head, key < s.keys);
    write_row<T>(sums_of_values, r, 1.0f, dv + key_place(p, s, key, head, head_of_values()), (int)head_of_values(), key < s.keys);
  }
}
#endif
