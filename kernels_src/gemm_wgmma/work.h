#pragma once
// The pieces of work of each block, and the layout of shared memory.
//
// Rows of a that are not multiples of 16 bytes form 8 classes (fewer if k is even): the rows i * 8 + j of class j are a multiple of 16
// bytes apart and begin at the same place of a word, `shift` elements into it. TMA loads them from the beginning of that word,
// so that column x of a class is column x - shift of a, and its rows of b begin `shift` rows above the first. The elements
// before a row's first one belong to another row; consumers clear them (zeros in b would not do: infinity * 0 is NaN).

/// Extracts 8 of 16 elements, from element `from` (0 to 8) on.
HONE_DEVICE void funnel(unsigned (&to)[4], const unsigned (&elements)[8], int from) {
  unsigned all[8];
#pragma unroll
  for (int e = 0; e < 8; ++e) all[e] = from & 8 ? elements[min_of(e + 4, 7)] : elements[e];
#pragma unroll
  for (int e = 0; e < 6; ++e) all[e] = from & 4 ? all[e + 2] : all[e];
#pragma unroll
  for (int e = 0; e < 5; ++e) all[e] = from & 2 ? all[e + 1] : all[e];
#pragma unroll
  for (int e = 0; e < 4; ++e) to[e] = (unsigned)(((unsigned long)all[e + 1] << 32 | all[e]) >> (from & 1) * 16);
}

/// One piece of work of a block.
struct Work {
  long tile;                  // of the cluster
  int row_tile, column_tile;  // of the block
  int row_class, map_row;     // of the block's rows, and the first of them in the class
  int begin, end;             // k-steps
  int part;                   // -1: the tile is not split
};

/// Elements of the first word before the first element of a row of this class.
template <Config c>
HONE_DEVICE int shift_of(Problem p, int row_class) {
  return c.repack == 2 ? (int)(row_class * p.k % 8) : 0;
}
/// The row of out that is row `row` of the work's tile.
template <Config c>
HONE_DEVICE long row_at(Problem p, const Work& work, int row) {
  return (work.map_row + row) * classes_of(p, c) + work.row_class;
}

/// Sets the class of a row tile, and its steps.
template <Config c>
HONE_DEVICE void place_rows(Problem p, Work& work) {
  work.row_class = 0;
  work.map_row = work.row_tile * c.bm;
  if constexpr (c.repack == 2) {
    const int tall = (int)(p.m % classes_of(p, c)), of_tall = (int)tiles_of_tall(p, c), of_low = (int)tiles_of_low(p, c);
    const int beyond = work.row_tile - tall * of_tall;
    const int tiles = beyond < 0 || of_low == 0 ? of_tall : of_low, index = beyond < 0 || of_low == 0 ? work.row_tile : beyond;
    work.row_class = index / tiles + (tiles == of_low && beyond >= 0 ? tall : 0);
    work.map_row = index % tiles * c.bm;
    if (c.cluster_k == 1) work.end = (int)ceil_div(p.k + shift_of<c>(p, work.row_class), (long)kDepth);
  }
}

/// Clusters of the grid, and the tiles that they split, computed from the grid.
template <Config c> HONE_DEVICE long clusters_here() { return gridDim.x / cluster_of(c); }
template <Config c> HONE_DEVICE long rest_here(Problem p) { return rest_of(p, c, clusters_here<c>()); }

/// Piece of work number `index` of the cluster, for its block `rank`; the last `rest` tiles are split. Row tiles run in groups of c.raster.
template <Config c>
HONE_DEVICE Work work_at(Problem p, long index, int rank, long rest) {
  Work work;
  const int steps = (int)steps_of(p, c);
  work.part = -1;
  work.tile = index;
  work.begin = 0;
  work.end = steps;
  if constexpr (c.split > 1) {
    const long unsplit = tiles_of(p, c) - rest;
    if (index >= unsplit) {
      work.part = (int)((index - unsplit) / rest);
      work.tile = unsplit + (index - unsplit) % rest;
      work.begin = steps * work.part / c.split;
      work.end = steps * (work.part + 1) / c.split;
    }
  }
  if (c.cluster_k > 1) {
    work.begin = steps * rank / c.cluster_k;
    work.end = steps * (rank + 1) / c.cluster_k;
  }
  const int place = c.cluster_k > 1 ? 0 : rank;  // of the block's tile among those of the cluster
  const int tile = (int)work.tile, high = (int)(tiles_m(p, c) / c.cluster_m), wide = (int)(tiles_n(p, c) / c.cluster_n);
  // The first copy waits for this arithmetic, in which divisions by variables take long. Only the last group of rows may have fewer rows
  // than the others, and often it has one.
  const int per_group = c.raster * wide, group = tile / per_group, within = tile - group * per_group;
  const int height = min_of(c.raster, high - group * c.raster);
  int down = 0, across = within;
  if (height == c.raster) {
    down = within % c.raster;
    across = within / c.raster;
  } else if (height > 1) {
    down = within % height;
    across = within / height;
  }
  work.row_tile = (group * c.raster + down) * c.cluster_m + place % c.cluster_m;
  work.column_tile = across * c.cluster_n + place / c.cluster_m;
  place_rows<c>(p, work);
  return work;
}

#if defined(HONE_HOPPER)
/// Shared memory: stages of a and b, staging for out, barriers.
template <Config c>
struct SharedLayout {
  hopper::u32 base, barriers;
  HONE_DEVICE explicit SharedLayout(const void* memory) {
    base = (hopper::shared_address(memory) + 1023) / 1024 * 1024;
    barriers = base + c.stages * stage_bytes(c) + staging_bytes(c);
  }
  HONE_DEVICE hopper::u32 a(int stage) const { return base + stage * stage_bytes(c); }
  HONE_DEVICE hopper::u32 b(int stage) const { return a(stage) + loaded_rows(c) * kDepth * 2; }
  /// The operand of 64 lines, and the one of any width.
  HONE_DEVICE hopper::u32 high(int stage) const { return c.swap_ab ? b(stage) : a(stage); }
  HONE_DEVICE hopper::u32 wide(int stage) const { return c.swap_ab ? a(stage) : b(stage); }
  HONE_DEVICE hopper::u32 staging() const { return base + c.stages * stage_bytes(c); }
  HONE_DEVICE hopper::u32 full(int stage) const { return barriers + stage * 8; }                   // the stage has been loaded
  HONE_DEVICE hopper::u32 empty(int stage) const { return barriers + (c.stages + stage) * 8; }     // the stage may be loaded again
  HONE_DEVICE hopper::u32 turn(int group) const { return barriers + (2 * c.stages + group) * 8; }  // this warpgroup may multiply
};

/// A position in the pipeline of stages.
template <Config c>
struct PipelineState {
  int stage = 0;
  hopper::u32 parity = 0;
  HONE_DEVICE void advance() {
    if (++stage == c.stages) {
      stage = 0;
      parity ^= 1;
    }
  }
  HONE_DEVICE void skip(int steps) {
    stage += steps;
    parity ^= stage / c.stages & 1;
    stage %= c.stages;
  }
};

/// Initializes the mbarriers; one thread calls it.
template <Config c>
HONE_DEVICE void init_barriers(const SharedLayout<c>& layout) {
  for (int stage = 0; stage < c.stages; ++stage) {
    hopper::mbarrier_init(layout.full(stage), 1);
    hopper::mbarrier_init(layout.empty(stage), loaders_of(c) * (c.pingpong ? 1 : c.consumers));
  }
  if constexpr (c.pingpong) {
    hopper::mbarrier_init(layout.turn(0), 1);
    hopper::mbarrier_init(layout.turn(1), 1);
    hopper::mbarrier_arrive(layout.turn(0));
  }
  hopper::fence_mbarrier_init();
}
#endif
