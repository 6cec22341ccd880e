#pragma once
// The producer: one thread of a block chooses its tiles and loads q, and k and v ahead of the consumers, by TMA.
#include "../attention_work.h"
#include "instructions.h"
#include "shared.h"

#if defined(HONE_HOPPER)
template <Config c>
struct Producer {
  static constexpr int kColumns = kLine / kOperandBytes;  // of a panel
  const TensorMap &q_map, &k_map, &v_map;
  int* next;  // tile that no block has taken
  const i32 *q_starts, *k_starts;
  Problem p;
  SharedLayout<c> layout;
  int rank;  // of the block in its cluster

  /// Loads a block of keys or values: the cluster's blocks load parts of its rows, each for all. Rows behind the sequence's last one are
  /// zero or another packed sequence's; no query sees them.
  template <int panels>
  HONE_DEVICE void load_block(hopper::u32 to, const TensorMap& map, int block, int head, const Sequence& s, hopper::u32 barrier) const {
    const int first = (int)s.first_key + block * c.bn;
    if constexpr (c.cluster == 1) {
      load_rows<panels>(to, map, c.bn, first, head, (int)s.line, barrier);
    } else {
      constexpr int kRows = c.bn / c.cluster;
      const int mine = first + rank * kRows;
      hopper::mbarrier_arrive_expect_tx(barrier, c.bn * panels * kLine);
#pragma unroll
      for (int panel = 0; panel < panels; ++panel) {
        tma_load_multicast(to + (panel * c.bn + rank * kRows) * kLine, map, panel * kColumns, Problem::layout == 1 ? head : mine,
                           Problem::layout == 1 ? mine : head, (int)s.line, barrier, (1 << c.cluster) - 1);
      }
    }
  }

  /// Loads `rows` rows of a head, in panels.
  template <int panels>
  HONE_DEVICE void load_rows(hopper::u32 to, const TensorMap& map, int rows, int first, int head, int line, hopper::u32 barrier) const {
    hopper::mbarrier_arrive_expect_tx(barrier, rows * panels * kLine);
#pragma unroll
    for (int panel = 0; panel < panels; ++panel) {
      tma_load(to + panel * rows * kLine, map, panel * kColumns, Problem::layout == 1 ? head : first, Problem::layout == 1 ? first : head,
               line, barrier);
    }
  }

  /// The tile after number `index`, the block's `count`-th; -1: there is none. Where tiles differ in length, every second round of tiles
  /// is dealt out in reverse.
  HONE_DEVICE int after(int index, int count) const {
    const int tiles = (int)tiles_of(p, c), blocks = (int)gridDim.x / c.cluster, mine = (int)blockIdx.x / c.cluster;
    if constexpr (c.schedule == 0) return -1;
    if constexpr (c.schedule == 1) {
      index = count * blocks + (Problem::causal && count % 2 == 1 ? blocks - 1 - mine : mine);
    } else {
      index = blocks + atomicAdd(next, 1);
    }
    return index < tiles ? index : -1;
  }

  HONE_DEVICE void run() const {
    PipelineState<c.stages> k_state, v_state;
    PipelineState<c.q_stages> q_state;
    int blocks = 0;
    int index = (int)blockIdx.x / c.cluster;
    for (int count = 1; index >= 0; ++count) {
      const int sequence = packed_sequence<c>(p, index, rows_of(c) * c.cluster, q_starts);
      const Work work = work_at<c>(p, 1.0f, index, sequence, q_starts, k_starts, rank, c.cluster);
      if (!work.exists) {
        index = after(index, count);
        continue;
      }
      const int kv_head = work.head / (int)p.group;
      int block = work.end - 1;
      load_k(work, kv_head, block, k_state);
      hopper::mbarrier_wait(layout.q_empty(q_state.stage), q_state.parity ^ 1);
      set_index(q_state.stage, index, sequence);
      load_rows<kPanels>(layout.q(q_state.stage), q_map, rows_of(c), (int)work.sequence.first_query + work.first, work.head,
                         (int)work.sequence.line, layout.q_full(q_state.stage));
      q_state.advance();
      const int following = after(index, count);
#pragma unroll 1
      for (; block >= work.begin; --block) {
        if (block > work.begin) load_k(work, kv_head, block - 1, k_state);
        hopper::mbarrier_wait(layout.v_empty(v_state.stage), v_state.parity ^ 1);
        load_block<kValuePanels>(layout.v(v_state.stage), v_map, block, kv_head, work.sequence, layout.v_full(v_state.stage));
        v_state.advance();
        ++blocks;
      }
      index = following;
    }
    if constexpr (c.schedule > 0 || Problem::packed) {  // a block whose only place is empty has no tile
      hopper::mbarrier_wait(layout.q_empty(q_state.stage), q_state.parity ^ 1);
      set_index(q_state.stage, -1, 0);
      hopper::mbarrier_arrive(layout.q_full(q_state.stage));
    }
    if constexpr (kTransposed) {
      hopper::mbarrier_wait(layout.v_empty(v_state.stage), v_state.parity ^ 1);
      put(layout.blocks(), blocks);
      hopper::mbarrier_arrive(layout.v_full(v_state.stage));
    }
  }

  HONE_DEVICE void load_k(const Work& work, int kv_head, int block, PipelineState<c.stages>& state) const {
    hopper::mbarrier_wait(layout.k_empty(state.stage), state.parity ^ 1);
    load_block<kPanels>(layout.k(state.stage), k_map, block, kv_head, work.sequence, layout.k_full(state.stage));
    state.advance();
  }

  /// For the consumers, which read it behind q_full.
  HONE_DEVICE void set_index(int stage, int index, int sequence) const {
    put(layout.index(stage), index);
    if constexpr (Problem::packed) put(layout.packed_sequence(stage), sequence);
  }
};
#endif
