#pragma once
// The producer: one thread of a block loads keys and values, and q and dout ahead of the consumers, by TMA.
#include "instructions.h"
#include "shared.h"

#if defined(HONE_HOPPER)
template <Config c>
struct Producer {
  const TensorMap &q_map, &k_map, &v_map, &dout_map;
  const float* terms;
  Problem p;
  SharedLayout<c> layout;

  /// Loads `rows` rows of a head, in panels. Those behind a sequence's last one are zero or another packed sequence's.
  template <int panels>
  HONE_DEVICE void load_rows(hopper::u32 to, const TensorMap& map, int rows, int first, int head, int line, hopper::u32 barrier) const {
#pragma unroll
    for (int panel = 0; panel < panels; ++panel) {
      tma_load(to + panel * rows * kLine, map, panel * 64, Problem::layout == 1 ? head : first, Problem::layout == 1 ? first : head, line,
               barrier);
    }
  }

  HONE_DEVICE void run(const KeyWork& work) const {
    const Sequence& s = work.sequence;
    const int line = (int)s.line, keys = (int)s.first_key + work.first;
    hopper::mbarrier_arrive_expect_tx(layout.kv_full(), (kPanels + kValuePanels) * keys_of(c) * kLine);
    load_rows<kPanels>(layout.k(), k_map, keys_of(c), keys, work.head, line, layout.kv_full());
    load_rows<kValuePanels>(layout.v(), v_map, keys_of(c), keys, work.head, line, layout.kv_full());
    int stage = 0, head = work.head * (int)p.group, tile = 0;
    hopper::u32 free = 1;
#pragma unroll 1
    for (int left = (int)p.group * work.tiles; left > 0; --left) {
      const int first = (work.begin + tile) * c.bm;
      const long of_terms = (first_place(p, c, work, head) + tile) * (terms_bytes(c) / 4);
      hopper::mbarrier_wait(layout.empty(stage), free);
      hopper::mbarrier_arrive_expect_tx(layout.q_full(stage), kPanels * c.bm * kLine + (int)terms_bytes(c));
      load_rows<kPanels>(layout.q(stage), q_map, c.bm, (int)s.first_query + first, head, line, layout.q_full(stage));
      bulk_load(layout.terms(stage), terms + of_terms, (int)terms_bytes(c), layout.q_full(stage));
      hopper::mbarrier_arrive_expect_tx(layout.dout_full(stage), kValuePanels * c.bm * kLine);
      load_rows<kValuePanels>(layout.dout(stage), dout_map, c.bm, (int)s.first_query + first, head, line, layout.dout_full(stage));
      if (++stage == c.stages) {
        stage = 0;
        free ^= 1;
      }
      if (++tile == work.tiles) {
        tile = 0;
        ++head;
      }
    }
  }
};
#endif
