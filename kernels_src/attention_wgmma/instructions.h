#pragma once
// Instructions that kernel_hopper.h lacks.

#if defined(HONE_HOPPER)
/// Copies the box at (x, y, z, u) to shared memory and reports its bytes to `barrier`.
HONE_DEVICE void tma_load(hopper::u32 to, const TensorMap& map, int x, int y, int z, int u, hopper::u32 barrier) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(to),
               "l"(&map), "r"(x), "r"(y), "r"(z), "r"(u), "r"(barrier)
               : "memory");
}

/// The same into every block of the cluster whose bit is set, at the same address; reports to each block's barrier.
HONE_DEVICE void tma_load_multicast(hopper::u32 to, const TensorMap& map, int x, int y, int z, int u, hopper::u32 barrier,
                                    hopper::u16 blocks) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3, %4, %5}], [%6], "
      "%7;" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(u), "r"(barrier), "h"(blocks)
      : "memory");
}

/// Writes 16 bytes of shared memory, and reads 8 of it.
HONE_DEVICE void store_words(hopper::u32 to, hopper::u32 x, hopper::u32 y, hopper::u32 z, hopper::u32 w) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}
HONE_DEVICE void load_pair(float (&to)[2], hopper::u32 from) {
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(to[0]), "=f"(to[1]) : "r"(from) : "memory");
}

/// Arrives at barrier `id` without waiting for the `threads` threads.
HONE_DEVICE void named_barrier_arrive(int id, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }

/// Registers of products under way have their values only behind a wait: this keeps the compiler from reading or reusing them before.
template <int n>
HONE_DEVICE void fence_registers(float (&x)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) asm volatile("" : "+f"(x[i])::"memory");
}
template <int n>
HONE_DEVICE void fence_registers(hopper::u32 (&x)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) asm volatile("" : "+r"(x[i])::"memory");
}

/// Keeps what computes x and y, two numbers that are not negative, in front of the next wait. ptxas moves a wait for products up to where
/// their operands are ready, and then nothing is computed while they run. It does not move it over a store: this is one that never happens.
HONE_DEVICE void finish_before(float x, float y, hopper::u32 shared) {
  asm volatile(
      "{ .reg .pred never; .reg .b32 both; or.b32 both, %0, %1; setp.lt.s32 never, both, 0; @never st.shared.b32 [%2], both; }" ::"r"(
          __float_as_int(x)),
      "r"(__float_as_int(y)), "r"(shared)
      : "memory");
}
#endif
