#pragma once
// Which queries a tile has, which keys those see, and where their results go.
#include "attention_rows.h"

struct Work {
  int sequence, head, first;   // the first query
  int begin, end;              // blocks of keys
  int clear_begin, clear_end;  // those of them whose scores stay as they are: all queries see them whole

  HONE_DEVICE bool is_clear(int block) const { return block >= clear_begin && block < clear_end; }
};

/// Tile number `index` of all: heads run in groups of c.raster, so that what they read stays in L2; of a group, the longest tiles first.
/// With a `scale` below 0 all scores change their sign. `rank` and `blocks`: of blocks that share keys and values, each has a tile under
/// that of the one before.
template <Config c>
HONE_DEVICE Work work_at(Problem p, float scale, int index, int rank = 0, int blocks = 1) {
  const int heads = (int)query_heads(p), lines = (int)p.batch * heads, tiles = (int)tiles_of_head(p, c);
  const int per_group = c.raster * tiles, group = index / per_group, within = index - group * per_group;
  const int high = min_of(c.raster, lines - group * c.raster), down = within / high;
  const int line = group * c.raster + within - down * high;
  Work work;
  work.sequence = line / heads;
  work.head = line - work.sequence * heads;
  const long top = (long)(Problem::causal ? tiles - 1 - down : down) * rows_of(c) * blocks;
  work.first = (int)top + rank * rows_of(c);
  const long first = position_of(p, top), last = position_of(p, min_of(top + rows_of(c) * blocks, p.queries) - 1);
  work.begin = (int)(first_key(p, first) / c.bn);
  work.end = (int)ceil_div(end_key(p, last), (long)c.bn);
  work.clear_begin = (int)ceil_div(first_key(p, last), (long)c.bn);
  work.clear_end = scale < 0.0f ? 0 : (int)(end_key(p, first) / c.bn);
  return work;
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
/// Multiplies scores by `sign`, and hides what the queries `query` and 8 further do not see of the block of keys that begins at `key`.
template <int n>
HONE_DEVICE void hide_unseen(float (&scores)[n], float sign, Problem p, long query, long key) {
  const long first = position_of(p, query), second = position_of(p, query + 8);
  TwoRows::hide(scores, sign, {first_key(p, first), first_key(p, second)}, {end_key(p, first), end_key(p, second)}, key);
}

/// Writes the results of queries `query` and 8 further.
template <class T, int n>
HONE_DEVICE void write_rows(TwoRows& rows, const float (&sums)[n], T* out, float* lse, float scale, Problem p, const Work& work,
                            long query) {
  rows.add_lanes();
#pragma unroll
  for (int r = 0; r < 2; ++r, query += 8) {
    rows.write(sums, r, out + place_of(work.sequence, query, work.head, p.queries, query_heads(p)), query < p.queries);
    if (threadIdx.x % 4 == 0 && query < p.queries)
      lse[(work.sequence * query_heads(p) + work.head) * p.queries + query] = rows.lse(r, scale);
  }
}
#endif
