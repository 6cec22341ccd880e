#pragma once
// The producer: one thread of a block loads tiles by TMA and keeps the pipeline of stages filled.

#if defined(HONE_HOPPER)
template <Config c>
struct Producer {
  static_assert(loaders_agree(c));
  const TensorMap* const (&a_maps)[8];  // one for each class
  const TensorMap& b_map;
  Problem p;
  SharedLayout<c> layout;
  int rank;

  /// L2 evicts what is read once first, and so keeps what many blocks read.
  template <bool once, int readers>
  HONE_DEVICE void copy(hopper::u32 to, const TensorMap& map, int x, int y, int stage, hopper::u16 blocks) const {
    const hopper::u64 policy = once ? hopper::kEvictFirst : hopper::kEvictNormal;
    if constexpr (readers > 1) {
      hopper::tma_load(to, map, x, y, layout.full(stage), policy, blocks);
    } else {
      hopper::tma_load(to, map, x, y, layout.full(stage), policy);
    }
  }

  /// Loads the tile of a: lines along k, or panels of rows of lines along m. With cluster_n, each block loads some lines for all blocks of
  /// its rows.
  HONE_DEVICE void fetch_a(const TensorMap& map, const Work& work, int k, int stage) const {
    constexpr int kPanel = box_line_a(c);
    const int first = c.cluster_n > 1 ? rank / c.cluster_m * box_a(c) : 0;
    const auto blocks = (hopper::u16)sharers_of_a(c, rank);
#pragma unroll
    for (int panel = 0; panel < (a_is_k_major() ? 1 : loaded_rows(c) / kPanel); ++panel) {
      const int x = a_is_k_major() ? k : work.map_row + panel * kPanel, y = a_is_k_major() ? work.map_row : k;
      copy<c.once == 1, c.cluster_n>(layout.a(stage) + (panel * kDepth + first) * (kPanel * 2), map, x, y + first, stage, blocks);
    }
  }

  /// Loads the tile of b: lines along k, or panels of columns of lines along n.
  HONE_DEVICE void fetch_b(const Work& work, int k, int stage) const {
    constexpr int kPanel = box_line_b(c);
    const int first = rank % c.cluster_m * box_b(c), column = work.column_tile * c.bn;
    const auto blocks = (hopper::u16)sharers_of_b(c, rank);
#pragma unroll
    for (int panel = 0; panel < (b_is_k_major() ? 1 : loaded_columns(c) / kPanel); ++panel) {
      const int x = b_is_k_major() ? k : column + panel * kPanel, y = b_is_k_major() ? column : k;
      copy<c.once == 2, c.cluster_m>(layout.b(stage) + (panel * kDepth + first) * (kPanel * 2), b_map, x, y + first, stage, blocks);
    }
  }

  HONE_DEVICE const TensorMap& a_map_of(int row_class) const {
    const TensorMap* map = a_maps[0];
#pragma unroll
    for (int i = 1; i < 8; ++i) {
      if (c.repack == 2 && row_class == i) map = a_maps[i];
    }
    return *map;
  }

  HONE_DEVICE void run() const {
    PipelineState<c> pipeline;
    const long rest = rest_here<c>(p), count = work_of(p, c, rest);
    for (long index = blockIdx.x / cluster_of(c); index < count; index += clusters_here<c>()) {
      const Work work = work_at<c>(p, index, rank, rest);
      const TensorMap& a_map = a_map_of(work.row_class);
      const int shift = shift_of<c>(p, work.row_class);
      for (int step = work.begin; step < work.end; ++step) {
        const int k = step * kDepth;
        hopper::mbarrier_wait(layout.empty(pipeline.stage), pipeline.parity ^ 1);
        hopper::mbarrier_arrive_expect_tx(layout.full(pipeline.stage), stage_bytes(c));
        fetch_a(a_map, work, k, pipeline.stage);
        fetch_b(work, k - shift, pipeline.stage);
        pipeline.advance();
      }
    }
  }
};
#endif
