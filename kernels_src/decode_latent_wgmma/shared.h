#pragma once
// The shared memory of a block.
#include "../attention_wgmma/instructions.h"

#if defined(HONE_HOPPER)
/// Rows of q, stages of the cache, what warpgroups pass to each other, and barriers. Rows and stages lie in panels of 64 columns.
template <Config c>
struct SharedLayout {
  hopper::u32 base;
  HONE_DEVICE explicit SharedLayout(const void* memory) { base = (hopper::shared_address(memory) + 1023) / 1024 * 1024; }
  HONE_DEVICE hopper::u32 q(int panel) const { return base + panel * (kRows * kPanelLine); }
  HONE_DEVICE hopper::u32 cache(int stage, int panel) const { return q(kPanels) + stage * stage_bytes(c) + panel * panel_bytes(c); }
  HONE_DEVICE hopper::u32 passed() const { return cache(c.stages, 0); }
  HONE_DEVICE hopper::u32 q_full() const { return passed() + passed_bytes(c); }
  /// Weights of a step are there, of the rows of a warp; from the warpgroup.
  HONE_DEVICE hopper::u32 given(int group, int warp) const { return q_full() + 8 + (group * 4 + warp) * 8; }
  HONE_DEVICE hopper::u32 full(int stage, int panel) const { return given(2, 0) + (stage * kPanels + panel) * 8; }
  /// A warpgroup has read its half of the columns of a stage.
  HONE_DEVICE hopper::u32 empty(int stage, int half) const { return full(c.stages, 0) + (stage * 2 + half) * 8; }
};

/// Initializes the mbarriers; one thread calls it.
template <Config c>
HONE_DEVICE void init_barriers(const SharedLayout<c>& layout) {
  hopper::mbarrier_init(layout.q_full(), 1);
  for (int i = 0; i < 8; ++i) hopper::mbarrier_init(layout.given(0, i), 1);
  for (int i = 0; i < c.stages * kPanels; ++i) hopper::mbarrier_init(layout.full(0, i), 1);
  for (int i = 0; i < c.stages * 2; ++i) hopper::mbarrier_init(layout.empty(0, i), c.cluster);
  hopper::fence_mbarrier_init();
}
#endif
