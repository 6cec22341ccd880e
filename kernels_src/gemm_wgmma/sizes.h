#pragma once
// Sizes that follow from a configuration and a problem.

constexpr int kDepth = 64;            // of a k-step: 128 bytes, the widest swizzle; as many elements of a line that runs along m or n
constexpr int kMostBlocks = 2 * 144;  // two for each multiprocessor of a whole GH100: workspaces are sized without knowing the device

/// Blocks of a cluster that have tiles of their own and share what they load.
HONE_BOTH constexpr int sharers_of(const Config& c) { return c.cluster_m * c.cluster_n; }
/// The blocks of a cluster that get what block `rank` loads, a bit for each: of a those of its rows, of b those of its columns.
HONE_BOTH constexpr int sharers_of_a(const Config& c, int rank) {
  return ((1 << sharers_of(c)) - 1) / ((1 << c.cluster_m) - 1) << rank % c.cluster_m;
}
HONE_BOTH constexpr int sharers_of_b(const Config& c, int rank) { return (1 << c.cluster_m) - 1 << rank / c.cluster_m * c.cluster_m; }
/// Whether block `rank` loads something for block `other`: in a line of blocks it does.
HONE_BOTH constexpr bool loads_for(const Config& c, int rank, int other) {
  return c.cluster_m == 1 || c.cluster_n == 1 || ((sharers_of_a(c, rank) | sharers_of_b(c, rank)) >> other & 1) != 0;
}
/// Blocks that load something for one of them, itself, too.
HONE_BOTH constexpr int loaders_of(const Config& c) { return c.cluster_m + c.cluster_n - 1; }
/// Whether so many blocks load for each, and it loads for as many.
HONE_BOTH constexpr bool loaders_agree(const Config& c) {
  for (int rank = 0; rank < sharers_of(c); ++rank) {
    int loaders = 0, loaded = 0;
    for (int other = 0; other < sharers_of(c); ++other) {
      loaders += loads_for(c, other, rank) ? 1 : 0;
      loaded += (sharers_of_a(c, rank) | sharers_of_b(c, rank)) >> other & 1;
    }
    if (loaders != loaders_of(c) || loaded != loaders_of(c)) return false;
  }
  return true;
}
HONE_BOTH constexpr int cluster_of(const Config& c) { return sharers_of(c) * c.cluster_k; }
// A wgmma has 64 lines of one operand (its M) and any number of lines of the other (its N): rows of a and columns of b, or, where they are
// swapped, columns of b and rows of a.
/// Lines of a tile in the operand of 64, and in the other one.
HONE_BOTH constexpr int height_of(const Config& c) { return c.swap_ab ? c.bn : c.bm; }
HONE_BOTH constexpr int width_of(const Config& c) { return c.swap_ab ? c.bm : c.bn; }
/// Whether lines in memory of the operand of 64 lines run along k, and those of the other one.
HONE_BOTH constexpr bool high_is_k_major(const Config& c) { return c.swap_ab ? b_is_k_major() : a_is_k_major(); }
HONE_BOTH constexpr bool wide_is_k_major(const Config& c) { return c.swap_ab ? a_is_k_major() : b_is_k_major(); }
/// Rows of a (columns of b, if swapped) that one warpgroup multiplies.
HONE_BOTH constexpr int lines_of(const Config& c) { return c.pingpong ? height_of(c) : height_of(c) / c.consumers; }
/// Whether as many warpgroups can have the same tile without swapping, with two products at most.
HONE_BOTH constexpr bool has_twin(const Config& c) {
  return c.bm % (64 * (c.pingpong ? 1 : c.consumers)) == 0 && c.bm <= 128 * (c.pingpong ? 1 : c.consumers);
}
HONE_BOTH constexpr int sums_of(const Config& c) { return lines_of(c) * width_of(c) / 128; }
HONE_BOTH constexpr int threads_of(const Config& c) { return 128 * (c.consumers + 1); }
/// Columns of a panel of b whose lines run along n, or rows of one of a: as many as one swizzle has room for, or half as many where fewer
/// are loaded in vain so.
HONE_BOTH constexpr int panel_of(int width) { return width % 64 > 0 && width % 64 <= 32 ? 32 : 64; }
/// Elements of a line of a TMA box of a, of b.
HONE_BOTH constexpr int box_line_a(const Config& c) { return a_is_k_major() ? kDepth : panel_of(c.bm); }
HONE_BOTH constexpr int box_line_b(const Config& c) { return b_is_k_major() ? kDepth : panel_of(c.bn); }
/// Bytes of a line of a box of the operand of any width.
HONE_BOTH constexpr int line_wide(const Config& c) { return 2 * (c.swap_ab ? box_line_a(c) : box_line_b(c)); }
/// Rows of a and columns of b that are loaded: whole panels.
HONE_BOTH constexpr int loaded_rows(const Config& c) { return a_is_k_major() ? c.bm : round_up(c.bm, panel_of(c.bm)); }
HONE_BOTH constexpr int loaded_columns(const Config& c) { return b_is_k_major() ? c.bn : round_up(c.bn, panel_of(c.bn)); }
HONE_BOTH constexpr int stage_bytes(const Config& c) { return (loaded_rows(c) + loaded_columns(c)) * kDepth * 2; }
/// Columns of out that a warp writes in one row where rows begin anywhere: if swapped, each warp writes rows of a warpgroup's columns.
HONE_BOTH constexpr int columns_anywhere(const Config& c) { return c.swap_ab ? lines_of(c) : c.bn; }
/// Bytes from one row to the next in shared memory there: one word more than a row has.
HONE_BOTH constexpr int pitch_anywhere(const Config& c) { return columns_anywhere(c) * 2 + 16; }
/// Columns and rows of a panel of out that TMA stores.
HONE_BOTH constexpr int panel_out(const Config& c) { return c.bn % 64 == 0 ? 64 : 32; }
HONE_BOTH constexpr int panel_rows(const Config& c) {
  return !c.swap_ab || c.bm % 64 == 0 ? 64 : c.bm % 48 == 0 ? 48 : c.bm % 32 == 0 ? 32 : 16;
}
/// Staging for out: two panels for each consumer, one of which TMA stores while the other is written; eight rows for each warp where rows
/// begin anywhere.
HONE_BOTH constexpr int staging_bytes(const Config& c) {
  return c.staged ? c.consumers * 2 * panel_out(c) * panel_rows(c) * 2 : c.repack > 0 ? c.consumers * 32 * pitch_anywhere(c) : 0;
}
/// All shared memory: 1024 bytes more to align it to 1024, and 256 for mbarriers.
HONE_BOTH constexpr int shared_bytes(const Config& c) { return 1024 + c.stages * stage_bytes(c) + staging_bytes(c) + 256; }
/// Registers of a consumer thread after setmaxnreg, and the most that it can have.
HONE_BOTH constexpr int exchanged_registers(const Config& c) { return c.repack == 2 ? 208 : 232; }
constexpr long registers_of(Config c, Device d) {
  return c.consumers > 1 ? exchanged_registers(c) : min_of(255L, d.registers_per_multiprocessor / (threads_of(c) * c.residency));
}
constexpr bool has_room(Config c, Device d) {
  return shared_bytes(c) + stage_bytes(c) <= d.shared_memory_per_block &&
         (shared_bytes(c) + stage_bytes(c)) * c.residency <= d.shared_memory_per_multiprocessor;
}
/// Large tiles with 160 KB on their way, where a longer pipeline made 128x14336x4096 slower by a twentieth on an H200.
constexpr bool is_long(const Config& c) { return c.bm * c.bn >= 128 * 128 && c.stages * stage_bytes(c) >= 160 << 10; }

/// Classes of rows: rows that are so many rows apart begin at the same place of a word of 16 bytes. A tile has rows of one class.
HONE_BOTH constexpr long classes_of(Problem p, const Config& c) {
  return c.repack != 2 || p.k % 8 == 0 ? 1 : p.k % 4 == 0 ? 2 : p.k % 2 == 0 ? 4 : 8;
}
/// Row tiles of a class: of each of the first p.m % classes, which have one row more, and of each of the others.
HONE_BOTH constexpr long tiles_of_tall(Problem p, const Config& c) { return ceil_div(p.m / classes_of(p, c) + 1, (long)c.bm); }
HONE_BOTH constexpr long tiles_of_low(Problem p, const Config& c) { return ceil_div(p.m / classes_of(p, c), (long)c.bm); }
HONE_BOTH constexpr long row_tiles_of(Problem p, const Config& c) {
  return p.m % classes_of(p, c) * tiles_of_tall(p, c) + (classes_of(p, c) - p.m % classes_of(p, c)) * tiles_of_low(p, c);
}
/// Row j of a begins in the word at element class_begin; class j has so many columns and rows from that word on.
HONE_BOTH constexpr long class_begin(Problem p, long j) { return j * p.k / 8 * 8; }
HONE_BOTH constexpr long class_columns(Problem p, Config c, long j) {
  return c.repack == 2 && j < classes_of(p, c) && j < p.m ? p.k + j * p.k % 8 : 0;
}
HONE_BOTH constexpr long class_rows(Problem p, Config c, long j) { return ceil_div(p.m - j, classes_of(p, c)); }
/// The last one or two columns of out, where they would take a column of tiles: idle warps add them up (edge.h).
HONE_BOTH constexpr long edge_of(Problem p, const Config& c) { return c.repack == 2 && p.n > 64 && p.n % 64 <= 2 ? p.n % 64 : 0; }
HONE_BOTH constexpr long main_n(Problem p, const Config& c) { return p.n - edge_of(p, c); }
/// Lines of an operand, whose elements are contiguous, and their length; whether they need a copy.
HONE_BOTH constexpr long lines_a(Problem p) { return a_is_k_major() ? p.m : p.k; }
HONE_BOTH constexpr long lines_b(Problem p) { return b_is_k_major() ? p.n : p.k; }
HONE_BOTH constexpr long line_a(Problem p) { return a_is_k_major() ? p.k : p.m; }
HONE_BOTH constexpr long line_b(Problem p) { return b_is_k_major() ? p.k : p.n; }
HONE_BOTH constexpr bool copied_a(Problem p, const Config& c) { return c.repack == 1 && line_a(p) % 8 != 0; }
HONE_BOTH constexpr bool copied_b(Problem p, const Config& c) { return c.repack > 0 && line_b(p) % 8 != 0; }
/// Lines of one TMA box.
HONE_BOTH constexpr int box_a(const Config& c) { return (a_is_k_major() ? c.bm : kDepth) / c.cluster_n; }
HONE_BOTH constexpr int box_b(const Config& c) { return (b_is_k_major() ? c.bn : kDepth) / c.cluster_m; }

HONE_BOTH constexpr long tiles_m(Problem p, const Config& c) { return round_up(row_tiles_of(p, c), (long)c.cluster_m); }
HONE_BOTH constexpr long tiles_n(Problem p, const Config& c) { return round_up(ceil_div(main_n(p, c), (long)c.bn), (long)c.cluster_n); }
HONE_BOTH constexpr long steps_of(Problem p, const Config& c) { return ceil_div(p.k + (classes_of(p, c) > 1 ? 7 : 0), (long)kDepth); }
/// Tiles of a cluster.
HONE_BOTH constexpr long tiles_of(Problem p, const Config& c) { return tiles_m(p, c) * tiles_n(p, c) / sharers_of(c); }
/// Blocks that have elements of out to compute, if all run at once: tiles that fill up a cluster have none.
HONE_BOTH constexpr long busy_blocks(Problem p, const Config& c) {
  return row_tiles_of(p, c) * ceil_div(main_n(p, c), (long)c.bn) * c.cluster_k;
}
/// Persistent blocks, and clusters of them.
constexpr long blocks_of(Config c, Device d) { return d.multiprocessors * c.residency / c.multiple * c.multiple; }
constexpr long clusters_of(Config c, Device d) { return blocks_of(c, d) / cluster_of(c); }
/// Whether no block has more than one tile.
constexpr bool at_once(Problem p, Config c, Device d) { return tiles_of(p, c) <= clusters_of(c, d); }
constexpr long rounds_of(Problem p, Config c, long blocks) { return ceil_div(tiles_of(p, c), max_of(1L, blocks / cluster_of(c))); }
/// Tiles of a cluster that are so wide.
constexpr long tiles_with(Problem p, Config c, long width) {
  return (c.swap_ab ? round_up(ceil_div(p.m, width), (long)c.cluster_m) * tiles_n(p, c)
                    : tiles_m(p, c) * round_up(ceil_div(main_n(p, c), width), (long)c.cluster_n)) /
         sharers_of(c);
}
/// Columns (rows, if swapped) that a block multiplies one after the other with tiles so wide: what the time is in proportion to.
constexpr long lines_in_turn(Problem p, Config c, Device d, int width) {
  return width * ceil_div(tiles_with(p, c, width), max_of(1L, clusters_of(c, d)));
}
/// Elements of out that a multiprocessor computes one after the other. To split the last round takes a second pass, 2 us or 6 million
/// products of a multiprocessor.
constexpr long elements_in_turn(Problem p, Config c, Device d) {
  const long all = lines_in_turn(p, c, d, width_of(c)) * height_of(c) * c.residency / c.cluster_k;
  return c.split == 1 ? all : all - (c.bn - c.bn / c.split) * c.bm + 6000000 / p.k;
}
/// The same for tiles of 128 rows and so many columns.
constexpr long elements_with(Problem p, Device d, long bn) {
  return 128 * bn * ceil_div(ceil_div(p.m, 128L) * ceil_div(p.n, bn), d.multiprocessors);
}
/// Widths are multiples of so many lines where they may win: panels of lines along m or n that begin 32 bytes off a word of 64 are slow
/// (with 144 columns 1536x1536x1536 took 16.4 us on an H200, with 160 13.5).
constexpr int width_step(const Config& c) { return wide_is_k_major(c) ? 16 : 32; }
/// The least of the widths from 112 or 128 columns on.
constexpr long least_elements(Problem p, Device d) {
  const long even = min_of(min_of(elements_with(p, d, 128), elements_with(p, d, 160)),
                           min_of(elements_with(p, d, 192), min_of(elements_with(p, d, 224), elements_with(p, d, 256))));
  const long odd = min_of(min_of(elements_with(p, d, 112), elements_with(p, d, 144)),
                          min_of(elements_with(p, d, 176), min_of(elements_with(p, d, 208), elements_with(p, d, 240))));
  return b_is_k_major() ? min_of(even, odd) : even;
}
/// Whether the last round leaves so much of the device idle that other tiles take a sixteenth less, for problems that fill it.
constexpr bool leaves_idle(Problem p, Config c, Device d) {
  return p.m >= 512 && p.m * p.n >= 8192 * d.multiprocessors && 16 * elements_in_turn(p, c, d) > 17 * least_elements(p, d);
}
/// Whether a width between two multiples of 64 saves time: as much as the narrower one, 4 % beside the wider one, and a round of tiles
/// beside the next narrower width.
constexpr bool width_pays(Problem p, Config c, Device d) {
  const int width = width_of(c), below = width / 64 * 64, narrower = width - width_step(c);
  const long in_turn = lines_in_turn(p, c, d, width);
  return in_turn <= lines_in_turn(p, c, d, below) && 25 * in_turn <= 24 * lines_in_turn(p, c, d, below + 64) &&
         in_turn / width < lines_in_turn(p, c, d, narrower) / narrower;
}
/// Twice the tiles, in proportion to how small they are.
constexpr long small_tiles(Problem p, const Config& c) { return 2 * tiles_of(p, c) * sharers_of(c) * 4096 / (c.bm * c.bn); }
/// Tiles of the last, incomplete wave of so many clusters: each is split into c.split parts of k.
HONE_BOTH constexpr long rest_of(Problem p, const Config& c, long clusters) { return c.split == 1 ? 0 : tiles_of(p, c) % clusters; }
/// Whether there are clusters for all parts, and something to split.
constexpr bool parts_fit(Problem p, Config c, long clusters) {
  return c.split == 1 || rest_of(p, c, clusters) > 0 && rest_of(p, c, clusters) * c.split <= clusters;
}
/// Pieces of work: whole tiles, then the parts of split ones.
HONE_BOTH constexpr long work_of(Problem p, const Config& c, long rest) { return tiles_of(p, c) + rest * (c.split - 1); }
/// Blocks of the grid. The rest of the tiles is the same for the grid's clusters as for all clusters, so a kernel computes rest_of from its
/// grid.
constexpr long grid_of(Problem p, Config c, Device d) {
  return min_of(clusters_of(c, d), work_of(p, c, rest_of(p, c, clusters_of(c, d)))) * cluster_of(c);
}
/// Floats from one row of sums in shared memory to the next: 8 or 4 more than it needs, against bank conflicts.
HONE_BOTH constexpr int pitch_of(const Config& c) { return c.bn + (c.swap_ab ? 4 : 8); }
/// Elements from one line of a copy to the next: lines of boxes, 128 bytes, are lines of L2.
HONE_BOTH constexpr long padded(long line) { return round_up(line, 64L); }
HONE_BOTH constexpr bool aligned(Problem p) { return line_a(p) % 8 == 0 && line_b(p) % 8 == 0 && p.n % 8 == 0; }
