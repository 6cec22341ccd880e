#pragma once
// The shared memory of a block, and positions in its pipelines.

#if defined(HONE_HOPPER)
/// Shared memory: a tile of q, stages of k and v, barriers, the number of the tile under way and of its packed sequence. Tiles lie in
/// panels of 64 columns.
template <Config c>
struct SharedLayout {
  hopper::u32 base, barriers;
  HONE_DEVICE explicit SharedLayout(const void* memory) {
    base = (hopper::shared_address(memory) + 1023) / 1024 * 1024;
    barriers = base + q_bytes(c) + 2 * c.stages * stage_bytes(c);
  }
  HONE_DEVICE hopper::u32 q() const { return base; }
  HONE_DEVICE hopper::u32 k(int stage) const { return base + q_bytes(c) + stage * stage_bytes(c); }
  HONE_DEVICE hopper::u32 v(int stage) const { return k(c.stages + stage); }
  HONE_DEVICE hopper::u32 q_full() const { return barriers; }       // q and the number of its tile are there
  HONE_DEVICE hopper::u32 q_empty() const { return barriers + 8; }  // those of the next tile may come
  HONE_DEVICE hopper::u32 k_full(int stage) const { return barriers + 16 + stage * 8; }
  HONE_DEVICE hopper::u32 v_full(int stage) const { return k_full(c.stages + stage); }
  HONE_DEVICE hopper::u32 k_empty(int stage) const { return k_full(2 * c.stages + stage); }
  HONE_DEVICE hopper::u32 v_empty(int stage) const { return k_full(3 * c.stages + stage); }
  HONE_DEVICE hopper::u32 index() const { return k_full(4 * c.stages); }
  HONE_DEVICE hopper::u32 packed_sequence() const { return index() + 4; }
};

/// A position in a pipeline of stages.
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
};

/// Initializes the mbarriers; one thread calls it.
template <Config c>
HONE_DEVICE void init_barriers(const SharedLayout<c>& layout) {
  hopper::mbarrier_init(layout.q_full(), 1);
  hopper::mbarrier_init(layout.q_empty(), c.consumers);
  for (int stage = 0; stage < 2 * c.stages; ++stage) {
    hopper::mbarrier_init(layout.k_full(stage), 1);
    hopper::mbarrier_init(layout.k_empty(stage), c.consumers * c.cluster);
  }
  hopper::fence_mbarrier_init();
}
#endif
