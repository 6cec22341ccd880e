#pragma once
// What loads q and steps of the cache: a warp, whose lanes copy pieces of a step that lie in one page.
#include "shared.h"

#if defined(HONE_HOPPER)
template <Config c>
struct Producer {
  const TensorMap &q_map, &cache_map;
  const i32* pages;  // of the sequence
  Problem p;
  SharedLayout<c> layout;

  /// The line of the cache of a key; of keys behind the last page, one that may not exist.
  HONE_DEVICE int line_of(int key) const {
    const int page = min_of(key / (int)p.page, (int)pages_of_sequence(p) - 1);
    return pages[page] * (int)p.page + key - page * (int)p.page;
  }

  HONE_DEVICE void run(long sequence, int first_row, int begin, int end) const {
    const int lane = (int)threadIdx.x, rank = c.cluster > 1 ? (int)hopper::cluster_rank() : 0;
    const int lines = (int)lines_of_copy(p, c), mine = rank * (c.bn / c.cluster) + lane * lines;  // of this lane's piece, in the step
    const bool loads = lane < c.bn / c.cluster / lines;
    if (lane == 0) {
      hopper::mbarrier_arrive_expect_tx(layout.q_full(), q_bytes());
      for (int panel = 0; panel < kPanels; ++panel) {
        hopper::tma_load(layout.q(panel), q_map, panel * kPanel, (int)(sequence * rows_of_sequence(p)) + first_row, layout.q_full());
      }
    }
    const int count = ceil_div(end - begin, c.bn);
    int line = line_of(begin + mine);
#pragma unroll 1
    for (int n = 0; n < count; ++n) {
      const int stage = n % c.stages, key = begin + n * c.bn, here = line;
      const hopper::u32 free = n / c.stages % 2 ^ 1;
      const int pieces = ceil_div(min_of(end - key, c.bn), lines);  // of the step, of all blocks of the cluster
      if (n + 1 < count) line = line_of(key + c.bn + mine);         // has a step's time to come
      for (int panel = 0; panel < kPanels; ++panel) {
        if (panel % (kValuePanels / 2) == 0 && panel < kValuePanels)
          hopper::mbarrier_wait(layout.empty(stage, panel / (kValuePanels / 2)), free);
        if (lane == 0) hopper::mbarrier_arrive_expect_tx(layout.full(stage, panel), pieces * lines * kPanelLine);
        __syncwarp();
        if (!loads || key + mine >= end) continue;
        const hopper::u32 to = layout.cache(stage, panel) + mine * kPanelLine;
        if constexpr (c.cluster == 1) {
          hopper::tma_load(to, cache_map, panel * kPanel, here, layout.full(stage, panel));
        } else {
          hopper::tma_load(to, cache_map, panel * kPanel, here, layout.full(stage, panel), hopper::kEvictNormal, (1 << c.cluster) - 1);
        }
      }
    }
  }
};
#endif
