#pragma once
// The sums of a consumer warpgroup, and their layout in its threads.

#if defined(HONE_HOPPER)
template <class T>
HONE_DEVICE hopper::u32 pair_of(float low, float high) {
  return (hopper::u32)T(low).bits | (hopper::u32)T(high).bits << 16;
}

template <class T, Config c>
struct Sums {
  static constexpr int kProducts = lines_of(c) / 64;  // one above the other; side by side, if swapped
  Problem p;
  SharedLayout<c> layout;
  int rank, group, thread;  // rank of the block in the cluster, consumer of the block, thread of the warpgroup
  float values[kProducts][width_of(c) / 2];

  /// The first row (column, if swapped), in the tile, of this thread's part of product i; the first one of the warpgroup.
  HONE_DEVICE int line_of(int i) const { return first_line() + i * 64 + thread / 32 * 16 + thread % 32 / 4; }
  HONE_DEVICE int first_line() const { return c.pingpong ? 0 : group * lines_of(c); }

  /// Releases a stage that the warpgroup has read, to every block that loads into it.
  HONE_DEVICE void release(int stage) const {
    if constexpr (sharers_of(c) == 1) {
      if (thread == 0) hopper::mbarrier_arrive(layout.empty(stage));
    } else {
      if (thread < sharers_of(c) && loads_for(c, thread, rank)) hopper::mbarrier_arrive_remote(layout.empty(stage), thread);
    }
  }

  /// Clears the elements before the first ones of the warpgroup's rows.
  HONE_DEVICE void clear_before(int shift, int stage) const {
    for (int row = thread; row < lines_of(c); row += 128) {
      const hopper::u32 line = layout.a(stage) + (first_line() + row) * 128 + row % 8 * 16;
      for (int e = 0; e < shift; ++e) hopper::store_half(line + e * 2, 0);
    }
    hopper::fence_proxy_async();
    hopper::named_barrier_sync(1 + group, 128);
  }

  /// The descriptor of the operand of any width. With panels of 32 lines have 64 bytes, and so has the swizzle.
  HONE_DEVICE hopper::u64 descriptor_wide(int stage) const {
    constexpr int kLine = line_wide(c);
    const hopper::u64 wide = hopper::matrix_descriptor(layout.wide(stage), wide_is_k_major(c) ? 16 : kDepth * kLine, 8 * kLine);
    return kLine == 128 ? wide : wide ^ (hopper::u64)3 << 62;  // layout 2 instead of 1
  }

  /// Multiplies the operands of a stage. 16 of k are 32 bytes of lines along k, or 16 lines.
  HONE_DEVICE void multiply(int stage, bool first) {
    constexpr bool kHighAlongK = high_is_k_major(c), kWideAlongK = wide_is_k_major(c);
    constexpr int kPanel = kDepth * 128, kStepHigh = kHighAlongK ? 32 : 16 * 128, kStepWide = kWideAlongK ? 32 : 16 * line_wide(c);
    const hopper::u64 high = hopper::matrix_descriptor(layout.high(stage) + first_line() * 128, kHighAlongK ? 16 : kPanel, 1024);
    const hopper::u64 wide = descriptor_wide(stage);
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k) {
#pragma unroll
      for (int i = 0; i < kProducts; ++i) {
        product<T, width_of(c), !kHighAlongK, !kWideAlongK>(values[i], high + (k * kStepHigh + i * 64 * 128) / 16,
                                                            wide + k * kStepWide / 16, !first || k > 0);
      }
    }
  }

  /// Adds up the k-steps of a piece of work; releases the stage before while one is multiplied.
  HONE_DEVICE void accumulate(const Work& work, PipelineState<c>& pipeline) {
    int before = 0;
    const int shift = work.begin == 0 ? shift_of<c>(p, work.row_class) : 0;
    for (int step = work.begin; step < work.end; ++step) {
      hopper::mbarrier_wait(layout.full(pipeline.stage), pipeline.parity);
      if (c.repack == 2 && step == 0 && shift > 0) clear_before(shift, pipeline.stage);
      hopper::wgmma_fence();
      multiply(pipeline.stage, step == work.begin);
      hopper::wgmma_commit_group();
      hopper::wgmma_wait_group<1>();
      if (step > work.begin) release(before);
      before = pipeline.stage;
      pipeline.advance();
    }
    hopper::wgmma_wait_group<0>();
    if (work.end > work.begin) release(before);
  }
};
#endif
