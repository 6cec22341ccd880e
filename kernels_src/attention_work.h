#pragma once
// Which queries a tile has, and which blocks of keys those see.

struct Work {
  int sequence, head, first;   // the first query
  int begin, end;              // blocks of keys
  int clear_begin, clear_end;  // those of them that all queries see whole
};

/// Tile number `index` of all: heads run in groups of c.raster, so that what they read stays in L2; of a group, the longest tiles first.
template <Config c> HONE_DEVICE Work work_at(Problem p, int index) {
  const int heads = (int)query_heads(p), lines = (int)p.batch * heads, tiles = (int)tiles_of_head(p, c);
  const int per_group = c.raster * tiles, group = index / per_group, within = index - group * per_group;
  const int high = min_of(c.raster, lines - group * c.raster), down = within / high;
  const int line = group * c.raster + within - down * high;
  Work work;
  work.sequence = line / heads;
  work.head = line - work.sequence * heads;
  work.first = (Problem::causal ? tiles - 1 - down : down) * rows_of(c);
  const long first = position_of(p, work.first), last = position_of(p, min_of((long)work.first + rows_of(c), p.queries) - 1);
  work.begin = (int)(first_key(p, first) / c.bn);
  work.end = (int)ceil_div(end_key(p, last), (long)c.bn);
  work.clear_begin = (int)ceil_div(first_key(p, last), (long)c.bn);
  work.clear_end = (int)(end_key(p, first) / c.bn);
  return work;
}
