#pragma once
// The sums of a consumer warpgroup, and their layout in its threads.

#if defined(HONE_HOPPER)
template <class T>
HONE_DEVICE hopper::u32 pair_of(float low, float high) {
  return (hopper::u32)T(low).bits | (hopper::u32)T(high).bits << 16;
}

template <class T, Config c>
struct Sums {
  static constexpr int kProducts = rows_of(c) / 64;  // one above the other
  Problem p;
  SharedLayout<c> layout;
  int rank, group, thread;  // rank of the block in the cluster, consumer of the block, thread of the warpgroup
  float values[kProducts][c.bn / 2];

  /// The first row, in the tile, of this thread's part of product i.
  HONE_DEVICE int row_of(int i) const { return first_row() + i * 64 + thread / 32 * 16 + thread % 32 / 4; }
  HONE_DEVICE int first_row() const { return c.pingpong ? 0 : group * rows_of(c); }

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
    for (int row = thread; row < rows_of(c); row += 128) {
      const hopper::u32 line = layout.a(stage) + (first_row() + row) * 128 + row % 8 * 16;
      for (int e = 0; e < shift; ++e) hopper::store_half(line + e * 2, 0);
    }
    hopper::fence_proxy_async();
    hopper::named_barrier_sync(1 + group, 128);
  }

  /// The descriptor of b. With panels of 32 columns lines have 64 bytes, and so has the swizzle.
  HONE_DEVICE hopper::u64 descriptor_b(int stage) const {
    constexpr int kLine = box_line_b(c) * 2;
    const hopper::u64 wide = hopper::matrix_descriptor(layout.b(stage), b_is_k_major() ? 16 : kDepth * kLine, 8 * kLine);
    return kLine == 128 ? wide : wide ^ (hopper::u64)3 << 62;  // layout 2 instead of 1
  }

  /// Multiplies the operands of a stage. 16 of k are 32 bytes of lines along k, or 16 lines.
  HONE_DEVICE void multiply(int stage, bool first) {
    constexpr int kPanel = kDepth * 128, kStepA = a_is_k_major() ? 32 : 2048, kStepB = b_is_k_major() ? 32 : 32 * box_line_b(c);
    const hopper::u64 a = hopper::matrix_descriptor(layout.a(stage) + first_row() * 128, a_is_k_major() ? 16 : kPanel, 1024);
    const hopper::u64 b = descriptor_b(stage);
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k) {
#pragma unroll
      for (int i = 0; i < kProducts; ++i) {
        product<T, c.bn, !a_is_k_major(), !b_is_k_major()>(values[i], a + (k * kStepA + i * 64 * 128) / 16, b + k * kStepB / 16,
                                                             !first || k > 0);
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
