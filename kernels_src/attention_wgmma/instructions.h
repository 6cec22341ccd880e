#pragma once
// Instructions that kernel_hopper.h lacks.

#if defined(HONE_HOPPER)
/// Copies the box at (x, y, z, u) to shared memory and reports its bytes to `barrier`.
HONE_DEVICE void tma_load(hopper::u32 to, const TensorMap& map, int x, int y, int z, int u, hopper::u32 barrier) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(to),
               "l"(&map), "r"(x), "r"(y), "r"(z), "r"(u), "r"(barrier)
               : "memory");
}

/// Arrives at barrier `id` without waiting for the `threads` threads.
HONE_DEVICE void named_barrier_arrive(int id, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }

/// Registers of products under way have their values only behind a wait: this keeps the compiler from reading or reusing them before.
template <int n> HONE_DEVICE void settle(float (&x)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) asm volatile("" : "+f"(x[i])::"memory");
}
template <int n> HONE_DEVICE void settle(hopper::u32 (&x)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) asm volatile("" : "+r"(x[i])::"memory");
}
#endif
