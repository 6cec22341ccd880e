#pragma once
// The shared memory of a block of the pass over keys.
#include "../attention_backward_work.h"
#include "../attention_wgmma/instructions.h"

#if defined(HONE_HOPPER)
/// Keys and values, stages of q and dout with what is known of their rows, changes of scores in two buffers, and barriers. All but rows'
/// terms lie in panels of 64 columns.
template <Config c>
struct SharedLayout {
  hopper::u32 base;
  HONE_DEVICE explicit SharedLayout(const void* memory) { base = (hopper::shared_address(memory) + 1023) / 1024 * 1024; }
  HONE_DEVICE hopper::u32 k() const { return base; }
  HONE_DEVICE hopper::u32 v() const { return k() + kPanels * keys_of(c) * kLine; }
  HONE_DEVICE hopper::u32 q(int stage) const { return v() + (kValuePanels * keys_of(c) + stage * kPanels * c.bm) * kLine; }
  HONE_DEVICE hopper::u32 dout(int stage) const { return q(c.stages) + stage * kValuePanels * c.bm * kLine; }
  HONE_DEVICE hopper::u32 changes(int buffer) const { return dout(c.stages) + buffer * (c.bm / 64) * keys_of(c) * kLine; }
  HONE_DEVICE hopper::u32 terms(int stage) const { return changes(2) + stage * (int)terms_bytes(c); }
  HONE_DEVICE hopper::u32 kv_full() const { return terms(c.stages); }
  HONE_DEVICE hopper::u32 q_full(int stage) const { return kv_full() + 8 + stage * 8; }  // with the rows' terms
  HONE_DEVICE hopper::u32 dout_full(int stage) const { return q_full(c.stages + stage); }
  HONE_DEVICE hopper::u32 empty(int stage) const { return q_full(2 * c.stages + stage); }  // each warp has read all of it
};

/// The first tile of queries of a head of q that sees any of the block's keys, among those of all heads.
HONE_DEVICE long first_place(Problem p, const Config& c, const KeyWork& work, long head) {
  const Sequence& s = work.sequence;
  const long before = Problem::packed ? s.first_query / c.bm + work.number : 0;
  return (s.line * query_heads(p) + head) * tile_places(p, c.bm) + before + work.begin;
}

/// Initializes the mbarriers; one thread calls it.
template <Config c>
HONE_DEVICE void init_barriers(const SharedLayout<c>& layout) {
  hopper::mbarrier_init(layout.kv_full(), 1);
  for (int stage = 0; stage < c.stages; ++stage) {
    hopper::mbarrier_init(layout.q_full(stage), 1);
    hopper::mbarrier_init(layout.dout_full(stage), 1);
    hopper::mbarrier_init(layout.empty(stage), 4 * c.consumers);
  }
  hopper::fence_mbarrier_init();
}
#endif
