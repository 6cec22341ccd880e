#pragma once
// The shared memory of a block, and positions in its pipelines.

#if defined(HONE_HOPPER)
/// Whether products need lines of v along its keys, as they do of 8 bits: then the block transposes values after they are loaded.
constexpr bool kTransposed = kOperandBytes == 1;
constexpr int kTransposingWarps = 3;  // warps: those of the producer's warpgroup that load nothing
constexpr int kLine = min_of((int)padded_head() * kOperandBytes, 128), kPanels = (int)padded_head() * kOperandBytes / kLine;
constexpr int kValuePanels = (int)padded_head_of_values() * kOperandBytes / kLine;

/// Shared memory: tiles of q, stages of k and v, of v transposed, barriers, the number of each tile and of its packed sequence.
/// Tiles lie in panels of kLine bytes of each row.
template <Config c>
struct SharedLayout {
  hopper::u32 base, barriers;
  HONE_DEVICE explicit SharedLayout(const void* memory) {
    base = (hopper::shared_address(memory) + 1023) / 1024 * 1024;
    barriers = base + c.q_stages * q_bytes(c) + c.stages * (stage_bytes(c) + value_stage_bytes(c) + transposed_bytes(c));
  }
  HONE_DEVICE hopper::u32 q(int stage) const { return base + stage * q_bytes(c); }
  HONE_DEVICE hopper::u32 k(int stage) const { return q(c.q_stages) + stage * stage_bytes(c); }
  HONE_DEVICE hopper::u32 v(int stage) const { return k(c.stages) + stage * value_stage_bytes(c); }
  HONE_DEVICE hopper::u32 transposed(int stage) const { return v(c.stages) + stage * transposed_bytes(c); }
  HONE_DEVICE hopper::u32 q_full(int stage) const { return barriers + stage * 8; }         // q and the number of its tile are there
  HONE_DEVICE hopper::u32 q_empty(int stage) const { return q_full(c.q_stages + stage); }  // those of another tile may come
  HONE_DEVICE hopper::u32 k_full(int stage) const { return q_full(2 * c.q_stages + stage); }
  HONE_DEVICE hopper::u32 v_full(int stage) const { return k_full(c.stages + stage); }
  HONE_DEVICE hopper::u32 k_empty(int stage) const { return k_full(2 * c.stages + stage); }
  HONE_DEVICE hopper::u32 v_empty(int stage) const { return k_full(3 * c.stages + stage); }
  HONE_DEVICE hopper::u32 transposed_full(int stage) const { return k_full(4 * c.stages + stage); }
  HONE_DEVICE hopper::u32 transposed_empty(int stage) const { return k_full(5 * c.stages + stage); }
  HONE_DEVICE hopper::u32 blocks() const {
    return k_full((kTransposed ? 6 : 4) * c.stages);
  }  // of values that the producer loads, once it knows
  HONE_DEVICE hopper::u32 index(int stage) const { return blocks() + 8 + stage * 8; }
  HONE_DEVICE hopper::u32 packed_sequence(int stage) const { return index(stage) + 4; }
  // What products read.
  HONE_DEVICE hopper::u32 values(int stage) const { return kTransposed ? transposed(stage) : v(stage); }
  HONE_DEVICE hopper::u32 values_full(int stage) const { return kTransposed ? transposed_full(stage) : v_full(stage); }
};

/// Numbers in shared memory that threads pass on behind a barrier.
HONE_DEVICE void put(hopper::u32 to, int number) { asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(number) : "memory"); }
HONE_DEVICE int take(hopper::u32 from) {
  int number;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(number) : "r"(from) : "memory");
  return number;
}

/// A position in a pipeline of stages.
template <int stages>
struct PipelineState {
  int stage = 0;
  hopper::u32 parity = 0;
  HONE_DEVICE void advance() {
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/// Initializes the mbarriers; one thread calls it.
template <Config c>
HONE_DEVICE void init_barriers(const SharedLayout<c>& layout) {
  for (int stage = 0; stage < c.q_stages; ++stage) {
    hopper::mbarrier_init(layout.q_full(stage), 1);
    hopper::mbarrier_init(layout.q_empty(stage), c.consumers);
  }
  for (int stage = 0; stage < c.stages; ++stage) {
    hopper::mbarrier_init(layout.k_full(stage), 1);
    hopper::mbarrier_init(layout.v_full(stage), 1);
    hopper::mbarrier_init(layout.k_empty(stage), c.consumers * c.cluster);
    hopper::mbarrier_init(layout.v_empty(stage), kTransposed ? kTransposingWarps : c.consumers * c.cluster);
    if constexpr (kTransposed) {
      hopper::mbarrier_init(layout.transposed_full(stage), kTransposingWarps);
      hopper::mbarrier_init(layout.transposed_empty(stage), 4 * c.consumers);
    }
  }
  if constexpr (kTransposed) put(layout.blocks(), 0x7fffffff);
  hopper::fence_mbarrier_init();
}
#endif
