#pragma once
// Which queries a tile has, which keys those see, and where their results go.
#include "attention_rows.h"

struct Work {
  Sequence sequence;
  int head, first;             // the first query
  int begin, end;              // blocks of keys: at least one
  int clear_begin, clear_end;  // those of them whose scores stay as they are: all queries see them whole
  bool exists;                 // it is no empty place

  HONE_DEVICE bool is_clear(int block) const { return block >= clear_begin && block < clear_end; }
};

/// Where tile number `index` of all is: heads run in groups of c.raster, so that what they read stays in L2; of a group, and there of each
/// packed sequence, the longest tiles come first.
struct TileNumber {
  int head, down;  // of all sequences, unless they are packed; the place for a tile
};
template <Config c>
HONE_BOTH constexpr TileNumber tile_number(Problem p, int index) {
  const int heads = (int)(lines_of(p) * query_heads(p)), places = (int)tiles_of_head(p, c);
  const int per_group = c.raster * places, group = index / per_group, within = index - group * per_group;
  const int high = min_of(c.raster, heads - group * c.raster), down = within / high;
  return {group * c.raster + within - down * high, down};
}

/// The packed sequence of tile number `index`. `rows`: of tiles.
template <Config c>
HONE_BOTH constexpr int packed_sequence(Problem p, int index, int rows, const i32* q_starts) {
  if constexpr (!Problem::packed) return 0;
  return tile_at_place(p, tile_number<c>(p, index).down, rows, q_starts).sequence;
}

/// Tile number `index` of all. With a `scale` below 0 all scores change their sign. `rank` and `blocks`: of blocks that share keys and
/// values, each has a tile under that of the one before.
template <Config c>
HONE_BOTH constexpr Work work_at(Problem p, float scale, int index, int packed_sequence, const i32* q_starts, const i32* k_starts,
                                 int rank = 0, int blocks = 1) {
  const int rows = rows_of(c) * blocks, heads = (int)query_heads(p);
  const TileNumber at = tile_number<c>(p, index);
  Work work = {};
  int down = at.down, tiles = (int)tiles_of_head(p, c), number = at.head / heads;
  work.head = at.head - number * heads;
  if constexpr (Problem::packed) number = packed_sequence;
  const Sequence s = work.sequence = sequence_of(p, number, q_starts, k_starts);
  if constexpr (Problem::packed) {
    down -= (int)(s.first_query / rows) + number;
    tiles = (int)ceil_div(s.queries, (long)rows);
  }
  work.exists = !Problem::packed || down < tiles;
  const long top = (long)(Problem::causal ? tiles - 1 - down : down) * rows;
  work.first = (int)top + rank * rows_of(c);
  const long first = position_of(s, top), last = position_of(s, min_of(top + rows, s.queries) - 1);
  work.begin = (int)(first_key(p, first) / c.bn);
  work.end = (int)ceil_div(end_key(p, s, last), (long)c.bn);
  if constexpr (Problem::packed) work.end = max_of(work.end, work.begin + 1);  // where no query sees a key
  work.clear_begin = (int)ceil_div(first_key(p, last), (long)c.bn);
  work.clear_end = scale < 0.0f ? 0 : (int)(end_key(p, s, first) / c.bn);
  return work;
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
/// Multiplies scores by `sign`, and hides what the queries `query` and 8 further do not see of the block of keys that begins at `key`.
template <int n>
HONE_DEVICE void hide_unseen(float (&scores)[n], float sign, Problem p, const Sequence& s, long query, long key) {
  const long first = position_of(s, query), second = position_of(s, query + 8);
  TwoRows::hide(scores, sign, {first_key(p, first), first_key(p, second)}, {end_key(p, s, first), end_key(p, s, second)}, key);
}

/// Writes the results of queries `query` and 8 further.
template <class T, int n>
HONE_DEVICE void write_rows(TwoRows& rows, const float (&sums)[n], T* out, float* lse, float scale, Problem p, const Work& work,
                            long query) {
  rows.add_lanes();
#pragma unroll
  for (int r = 0; r < 2; ++r, query += 8) {
    const bool exists = query < work.sequence.queries;
    rows.write(sums, r, out + query_place(p, work.sequence, query, work.head, head_of_values()), exists);
    if (threadIdx.x % 4 == 0 && exists) lse[lse_place(p, work.sequence, query, work.head)] = rows.lse(r, scale);
  }
}
#endif
