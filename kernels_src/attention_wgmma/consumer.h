#pragma once
// A consumer: a warpgroup that computes 64 rows of a tile, each of its warps 16 of them.

#if defined(HONE_HOPPER)
template <class T, Config c> struct Consumer {
  static constexpr int kHead = Problem::head, kLine = 128;
  Problem p;
  SharedLayout<c> layout;
  T* to;
  float* lse;
  float scale;        // of scores, for powers of two
  int group, thread;  // consumer of the block, thread of the warpgroup
  float sums[kHead / 2], scores[c.bn / 2];
  hopper::u32 weights[c.bn / 4];  // rounded, in pairs
  TwoRows rows;

  /// Starts scores = q k^T.
  HONE_DEVICE void start_scores(int stage) {
    const hopper::u64 a = hopper::matrix_descriptor(layout.q() + group * 64 * kLine, 16, 8 * kLine);
    const hopper::u64 b = hopper::matrix_descriptor(layout.k(stage), 16, 8 * kLine);
#pragma unroll
    for (int e = 0; e < kHead / 16; ++e) {
      const int panel = e / 4, word = e % 4 * 2;
      scores_product<T, c.bn>(scores, a + panel * (rows_of(c) * kLine / 16) + word, b + panel * (c.bn * kLine / 16) + word, e > 0);
    }
    hopper::wgmma_commit_group();
  }

  /// Starts sums = weights v, or adds it.
  HONE_DEVICE void start_sums(int stage, bool accumulate) {
    const hopper::u64 b = hopper::matrix_descriptor(layout.v(stage), c.bn * kLine, 8 * kLine);
#pragma unroll
    for (int key = 0; key < c.bn / 16; ++key) {
      weighted_sum<T, kHead>(sums, weights + key * 4, b + key * (16 * kLine / 16), accumulate || key > 0);
    }
    hopper::wgmma_commit_group();
  }

  /// From scores to weights, not yet rounded; sums so far are to be multiplied by `factor`.
  HONE_DEVICE void weigh(const Work& work, int block, float (&factor)[2]) {
    if (block >= work.clear_end || block < work.clear_begin) TwoRows::hide(scores, p, work.first + first_row(), (long)block * c.bn);
    rows.template weigh<c.lazy, c.by_fma>(scores, scale, factor);
  }

  HONE_DEVICE void release(hopper::u32 barrier) const {
    if (thread == 0) hopper::mbarrier_arrive(barrier);
  }
  HONE_DEVICE void take_turn() const {
    if constexpr (c.pingpong) hopper::named_barrier_sync(1 + group, 256);
  }
  HONE_DEVICE void pass_turn() const {
    if constexpr (c.pingpong) named_barrier_arrive(1 + (group + 1) % c.consumers, 256);
  }

  /// The row, in the tile, of this thread's first row.
  HONE_DEVICE int first_row() const { return group * 64 + thread / 32 * 16 + thread % 32 / 4; }

  HONE_DEVICE void step(const Work& work, int block, PipelineState<c>& k_state, PipelineState<c>& v_state) {
    float factor[2];
    hopper::mbarrier_wait(layout.k_full(k_state.stage), k_state.parity);
    take_turn();
    hopper::wgmma_fence();
    start_scores(k_state.stage);
    hopper::mbarrier_wait(layout.v_full(v_state.stage), v_state.parity);
    start_sums(v_state.stage, block + 2 < work.end);
    pass_turn();
    hopper::wgmma_wait_group<1>();
    settle(scores);
    release(layout.k_empty(k_state.stage));
    k_state.advance();
    weigh(work, block, factor);
    hopper::wgmma_wait_group<0>();
    settle(sums);
    settle(weights);
    release(layout.v_empty(v_state.stage));
    v_state.advance();
    TwoRows::rescale<c.lazy>(sums, factor);
    TwoRows::round<T>(weights, scores);
  }

  /// Computes a tile: the scores of a block of keys are computed while the block before is weighed and added.
  HONE_DEVICE void compute(const Work& work, PipelineState<c>& k_state, PipelineState<c>& v_state) {
    float factor[2];
    rows = {};
    int block = work.end - 1;
    hopper::mbarrier_wait(layout.k_full(k_state.stage), k_state.parity);
    hopper::wgmma_fence();
    start_scores(k_state.stage);
    hopper::wgmma_wait_group<0>();
    settle(scores);
    release(layout.k_empty(k_state.stage));
    k_state.advance();
    weigh(work, block, factor);
    TwoRows::round<T>(weights, scores);
    for (--block; block >= work.begin; --block) step(work, block, k_state, v_state);
    release(layout.q_empty());
    hopper::mbarrier_wait(layout.v_full(v_state.stage), v_state.parity);
    hopper::wgmma_fence();
    start_sums(v_state.stage, work.end - work.begin > 1);
    hopper::wgmma_wait_group<0>();
    settle(sums);
    settle(weights);
    release(layout.v_empty(v_state.stage));
    v_state.advance();
  }

  HONE_DEVICE int next_index() const {
    int index;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(index) : "r"(layout.index()) : "memory");
    return index;
  }

  HONE_DEVICE void run() {
    PipelineState<c> k_state, v_state;
    if (c.pingpong && group == c.consumers - 1) pass_turn();
    hopper::u32 parity = 0;
    do {
      hopper::mbarrier_wait(layout.q_full(), parity);
      parity ^= 1;
      const int index = next_index();
      if (index < 0) break;
      const Work work = work_at<c>(p, index);
      compute(work, k_state, v_state);
      rows.write(sums, to, lse, scale, p, work.sequence, work.head, work.first + first_row());
    } while (c.schedule > 0);
  }
};
#endif
