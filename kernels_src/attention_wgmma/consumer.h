#pragma once
// A consumer: a warpgroup that computes 64 rows of a tile, each of its warps 16 of them.
#include "../attention_work.h"
#include "instructions.h"
#include "products.h"
#include "shared.h"

#if defined(HONE_HOPPER)
/// The scores' operands: lines of kLine bytes along the elements of a head, swizzled.
template <int line>
HONE_DEVICE hopper::u64 descriptor_of_lines(hopper::u32 address) {
  const hopper::u64 descriptor = hopper::matrix_descriptor(address, 16, 8 * line);
  return line == 128 ? descriptor : descriptor ^ (hopper::u64)3 << 62;  // a swizzle of 64 bytes
}

/// What depends on the type of q, k and v: how weights become the left operand, values the right one, and sums results.
template <class In>
struct Operands {
  /// What the scores of a head are multiplied by.
  struct Scales {
    float scale;
    HONE_DEVICE float of_scores(const Work&, long) const { return scale; }
  };
  static constexpr int kRaise = 0;  // weights are multiplied by 2^kRaise

  /// Lines along the elements of a head, 16 of them in a step.
  template <Config c>
  static HONE_DEVICE hopper::u64 operand(hopper::u32 stage, int step) {
    return hopper::matrix_descriptor(stage, c.bn * kLine, 8 * kLine) + step * (16 * kLine / 16);
  }
  template <int n>
  static HONE_DEVICE void round(hopper::u32 (&weights)[n / 2], const float (&scores)[n]) {
    TwoRows::round<In>(weights, scores);
  }
  template <class Consumer>
  static HONE_DEVICE void write(Consumer& x, const Work& work, long query) {
    write_rows(x.rows, x.sums, x.to, x.lse, x.scale, x.p, work, query);
  }
};

/// `In`: the type of q, k and v; `T`: that of the results.
template <class T, class In, Config c>
struct Consumer {
  static constexpr int kHead = Problem::head, kValues = (int)head_of_values(),
                       kStep = 32;  // bytes of a line that an instruction multiplies
  Problem p;
  SharedLayout<c> layout;
  const i32 *q_starts, *k_starts;
  T* to;
  float* lse;
  typename Operands<In>::Scales scales;
  int rank, group, thread;  // of the block in its cluster; consumer of the block; thread of the warpgroup
  float scale, sign;        // of the tile's scores, for powers of two: above 0; 1 or -1
  float sums[kValues / 2], scores[c.bn / 2];
  hopper::u32 weights[c.bn * kOperandBytes / 8];  // rounded
  TwoRows rows;
  int q_stage;  // of the tile: with a pipeline's state here, ptxas serialized all products

  /// Starts scores = q k^T.
  HONE_DEVICE void start_scores(int stage) {
    const hopper::u64 a = descriptor_of_lines<kLine>(layout.q(q_stage) + group * 64 * kLine);
    const hopper::u64 b = descriptor_of_lines<kLine>(layout.k(stage));
#pragma unroll
    for (int e = 0; e < kHead * kOperandBytes / kStep; ++e) {
      const int panel = e / (kLine / kStep), word = e % (kLine / kStep) * (kStep / 16);
      scores_product<In, c.bn>(scores, a + panel * (rows_of(c) * kLine / 16) + word, b + panel * (c.bn * kLine / 16) + word, e > 0);
    }
    hopper::wgmma_commit_group();
  }

  /// Starts sums = weights v, or adds it.
  HONE_DEVICE void start_sums(int stage, bool accumulate) {
#pragma unroll
    for (int step = 0; step < c.bn * kOperandBytes / kStep; ++step) {
      weighted_sum<In, kValues>(sums, weights + step * 4, Operands<In>::template operand<c>(layout.values(stage), step),
                                accumulate || step > 0);
    }
    hopper::wgmma_commit_group();
  }

  /// From scores to weights, not yet rounded; sums so far are to be multiplied by `factor`.
  HONE_DEVICE void weigh(const Work& work, int block, float (&factor)[2]) {
    if (!work.is_clear(block)) hide_unseen(scores, sign, p, work.sequence, work.first + first_row(), (long)block * c.bn);
    rows.template weigh<lazy_of(c), c.by_fma, Operands<In>::kRaise, true>(scores, scale, factor);
  }

  /// Releases a stage that the warpgroup has read, to every block that loads into it.
  HONE_DEVICE void release(hopper::u32 barrier) const {
    if constexpr (c.cluster == 1) {
      if (thread == 0) hopper::mbarrier_arrive(barrier);
    } else {
      if (thread < c.cluster) hopper::mbarrier_arrive_remote(barrier, thread);
    }
  }
  /// Releases a block of values. What a copy overwrites takes longer to come than warps are apart at the end of a product; what
  /// transposes the next block writes at once: each warp says that it has read the last one.
  HONE_DEVICE void release_values(int stage) const {
    if constexpr (kTransposed) {
      if (thread % 32 == 0) hopper::mbarrier_arrive(layout.transposed_empty(stage));
    } else {
      release(layout.v_empty(stage));
    }
  }
  HONE_DEVICE void take_turn() const {
    if constexpr (c.pingpong) hopper::named_barrier_sync(1 + group, 256);
  }
  HONE_DEVICE void pass_turn() const {
    if constexpr (c.pingpong) named_barrier_arrive(1 + (group + 1) % c.consumers, 256);
  }

  /// The row, in the tile, of this thread's first row.
  HONE_DEVICE int first_row() const { return group * 64 + thread / 32 * 16 + thread % 32 / 4; }

  /// Releases a block of keys that none of the warpgroup's queries sees. All consumers take a turn for each block of a tile but one. There
  /// is no product at which the warps wait for each other: each must have seen a stage before it is loaded again.
  HONE_DEVICE void skip(PipelineState<c.stages>& k_state, PipelineState<c.stages>& v_state, bool has_turn) const {
    hopper::mbarrier_wait(layout.k_full(k_state.stage), k_state.parity);
    hopper::named_barrier_sync(8 + group, 128);
    release(layout.k_empty(k_state.stage));
    k_state.advance();
    if (has_turn) {
      take_turn();
      pass_turn();
    }
    hopper::mbarrier_wait(layout.values_full(v_state.stage), v_state.parity);
    hopper::named_barrier_sync(8 + group, 128);
    release_values(v_state.stage);
    v_state.advance();
  }

  /// Starts a tile: weighs its last block.
  HONE_DEVICE void start(const Work& work, PipelineState<c.stages>& k_state) {
    float factor[2];
    rows = {};
    hopper::mbarrier_wait(layout.k_full(k_state.stage), k_state.parity);
    hopper::wgmma_fence();
    start_scores(k_state.stage);
    hopper::wgmma_wait_group<0>();
    fence_registers(scores);
    release(layout.k_empty(k_state.stage));
    k_state.advance();
    weigh(work, work.end - 1, factor);
    Operands<In>::round(weights, scores);
  }

  /// Computes the scores of a block while the block behind it is weighed and added.
  HONE_DEVICE void step(const Work& work, int block, PipelineState<c.stages>& k_state, PipelineState<c.stages>& v_state) {
    float factor[2];
    hopper::mbarrier_wait(layout.k_full(k_state.stage), k_state.parity);
    take_turn();
    hopper::wgmma_fence();
    start_scores(k_state.stage);
    hopper::mbarrier_wait(layout.values_full(v_state.stage), v_state.parity);
    start_sums(v_state.stage, block + 2 < work.end);
    pass_turn();
    hopper::wgmma_wait_group<1>();
    fence_registers(scores);
    release(layout.k_empty(k_state.stage));
    k_state.advance();
    weigh(work, block, factor);
    finish_before(rows.total[0], rows.total[1], layout.blocks());
    hopper::wgmma_wait_group<0>();
    fence_registers(sums);
    fence_registers(weights);
    release_values(v_state.stage);
    v_state.advance();
    TwoRows::rescale<lazy_of(c)>(sums, factor);
    Operands<In>::round(weights, scores);
  }

  /// Adds the first block, which is weighed.
  HONE_DEVICE void finish(const Work& work, PipelineState<c.stages>& v_state) {
    hopper::mbarrier_wait(layout.values_full(v_state.stage), v_state.parity);
    hopper::wgmma_fence();
    start_sums(v_state.stage, work.end - work.begin > 1);
    hopper::wgmma_wait_group<0>();
    fence_registers(sums);
    fence_registers(weights);
    release_values(v_state.stage);
    v_state.advance();
  }

  /// Computes a tile. `work` is narrowed to the blocks that the warpgroup's queries see.
  HONE_DEVICE void compute(Work work, PipelineState<c.stages>& k_state, PipelineState<c.stages>& v_state) {
    const int first = work.first + group * 64, begin = work.begin;
    int block = work.end - 1;
    const Sequence& s = work.sequence;
    work.end = first >= s.queries ? begin : (int)ceil_div(end_key(p, s, position_of(s, min_of(first + 64L, s.queries) - 1)), (long)c.bn);
    work.begin = (int)(first_key(p, position_of(s, first)) / c.bn);
    if (Problem::packed && first < s.queries) work.end = max_of(work.end, work.begin + 1);
    for (; block >= max_of(work.end, begin); --block) skip(k_state, v_state, block > begin);
    if (block < begin) {  // there are no queries
      if (thread == 0) hopper::mbarrier_arrive(layout.q_empty(q_stage));
      return;
    }
    start(work, k_state);
    for (--block; block >= work.begin; --block) step(work, block, k_state, v_state);
    if (thread == 0) hopper::mbarrier_arrive(layout.q_empty(q_stage));
    finish(work, v_state);
    for (; block >= begin; --block) skip(k_state, v_state, true);
  }

  HONE_DEVICE void run() {
    PipelineState<c.stages> k_state, v_state;
    PipelineState<c.q_stages> q_state;
    if (c.pingpong && group == c.consumers - 1) pass_turn();
    do {
      hopper::mbarrier_wait(layout.q_full(q_state.stage), q_state.parity);
      q_stage = q_state.stage;
      const int index = take(layout.index(q_stage));
      if (index < 0) break;
      const int sequence = Problem::packed ? take(layout.packed_sequence(q_stage)) : 0;
      Work work = work_at<c>(p, 1.0f, index, sequence, q_starts, k_starts, rank, c.cluster);
      const float of_scores = scales.of_scores(work, p.group);
      scale = power_scale(of_scores);
      sign = sign_of(of_scores);
      if (sign < 0.0f) work.clear_end = 0;
      q_state.advance();
      compute(work, k_state, v_state);
      Operands<In>::write(*this, work, work.first + first_row());
    } while (c.schedule > 0);
  }
};
#endif
