#pragma once
// Which tiles, and which parts of k, each block computes. Tiles are numbered in groups of `raster` rows, down first, so that those that run
// at once share rows of a and columns of b. To share the steps of the last round evenly is "stream-K" (Osama et al., PPoPP 2023, arXiv
// 2301.03598); here a second pass adds up the parts in a fixed order, and no block waits for another.

/// A tile, and the steps of it that one block adds up.
struct Piece {
  long tile;
  int begin, end;
};

template <Config c>
struct Schedule {
  long blocks, rounds, steps;  // rounds of whole tiles for each block
  long dealt, sharers;         // steps of the tiles after them, and the blocks that share these: four steps or more each

  HONE_DEVICE Schedule(Problem p, long blocks_) : blocks(blocks_), rounds(tiles_of(p, c) / blocks_), steps(steps_of(p, c)) {
    dealt = tiles_of(p, c) % blocks * steps;
    // Few tiles have as many parts each: those of the same k run at the same time, so that L2 serves what they share, and no block has
    // parts of two tiles. Not many tiles: with 8 parts for each of 64, 8192x64x8192 was slower by an eighth on an H200.
    const long most = max_of(1L, min_of(blocks, dealt / 4)), rest = tiles_of(p, c) % blocks;
    sharers = rest > 0 && 16 * rest <= most ? most / rest * rest : most;
  }
  /// The first of the shared steps that `block` computes.
  HONE_DEVICE long first_of(long block) const { return dealt * min_of(block, sharers) / sharers; }
  /// The block that computes one of the shared steps.
  HONE_DEVICE long block_of(long step) const { return ((step + 1) * sharers - 1) / dealt; }
  HONE_DEVICE long first_tile() const { return rounds * blocks; }
};

/// Row and column where a tile begins.
template <Config c>
HONE_DEVICE void place(Problem p, long tile, long& row, long& column) {
  const int tiles_m = (int)ceil_div(p.m, (long)c.bm), tiles_n = (int)ceil_div(p.n, (long)c.bn);
  const int per_group = c.raster * tiles_n, group = (int)tile / per_group, within = (int)tile % per_group;
  const int height = min_of(c.raster, tiles_m - group * c.raster);
  row = (group * c.raster + within % height) * (long)c.bm;
  column = within / height * (long)c.bn;
}
