#pragma once
// Thin wrappers around what compute capability 9.0a adds: mbarriers, bulk tensor copies, clusters, and matrix products of a warpgroup (four
// warps) on operands in shared memory. One function is one instruction; names and rules are those of the PTX ISA
// (https://docs.nvidia.com/cuda/parallel-thread-execution). Include it behind <hone/kernel.h>, call it only where
// HONE_HOPPER is defined: a kernel file must also compile for other architectures.

#if defined(__CUDACC__) && defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define HONE_HOPPER
#endif

#if defined(__CUDACC__)
namespace hopper {

template <class A, class B> inline constexpr bool kSame = false;
template <class A> inline constexpr bool kSame<A, A> = true;

using u16 = unsigned short;
using u32 = unsigned;
using u64 = unsigned long long;

/// An address of shared memory as the instructions take it.
HONE_DEVICE u32 shared_address(const void* pointer) { return (u32)__cvta_generic_to_shared(pointer); }

// ---- mbarriers: `barrier` is the shared address of 8 bytes --------------------------------------------------------------------------------
/// A phase ends after `arrivals` arrivals, and after all bytes it was told to expect.
HONE_DEVICE void mbarrier_init(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// Makes initialized barriers visible to the cluster and to bulk copies; a barrier of the threads has to follow.
HONE_DEVICE void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
HONE_DEVICE void mbarrier_arrive(u32 barrier) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory"); }
/// Arrives at the barrier of the same address in block `rank` of the cluster.
HONE_DEVICE void mbarrier_arrive_remote(u32 barrier, u32 rank) {
  asm volatile(
      "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\nmbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}
HONE_DEVICE void mbarrier_arrive_expect_tx(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
/// Waits for the end of the phase of this parity; the first phase has parity 0, and waiting for 1 before it ended returns at once.
HONE_DEVICE void mbarrier_wait(u32 barrier, u32 parity) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra end;\nbra again;\nend:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// ---- clusters -----------------------------------------------------------------------------------------------------------------------------
HONE_DEVICE u32 cluster_rank() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
HONE_DEVICE void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// The address of block `rank` that corresponds to a shared address of this one.
HONE_DEVICE u32 map_shared_rank(u32 address, u32 rank) {
  u32 remote;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
  return remote;
}
HONE_DEVICE void load_remote(float (&to)[4], u32 address) {
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "r"(address)
               : "memory");
}
HONE_DEVICE void store_pair(u32 address, float x, float y) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(x), "f"(y) : "memory");
}
/// Reads 16 bytes of shared memory.
HONE_DEVICE void load_words(u32& a, u32& b, u32& c, u32& d, u32 address) {
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(address) : "memory");
}
HONE_DEVICE u16 load_half(u32 address) {
  u16 x;
  asm volatile("ld.shared.b16 %0, [%1];" : "=h"(x) : "r"(address) : "memory");
  return x;
}
HONE_DEVICE void store_half(u32 address, u16 x) { asm volatile("st.shared.b16 [%0], %1;" ::"r"(address), "h"(x) : "memory"); }

// ---- bulk tensor copies -------------------------------------------------------------------------------------------------------------------
HONE_DEVICE void prefetch_tensor_map(const TensorMap& map) { asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory"); }
/// How long L2 keeps what a copy reads: the encodings of createpolicy's evict_normal and evict_first for all of it.
inline constexpr u64 kEvictNormal = 0x1000000000000000, kEvictFirst = 0x12f0000000000000;
/// Copies the box at (x, y) to shared memory and reports its bytes to `barrier`.
HONE_DEVICE void tma_load(u32 to, const TensorMap& map, int x, int y, u32 barrier, u64 policy = kEvictNormal) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier), "l"(policy)
      : "memory");
}
/// The same into every block of the cluster whose bit is set, at the same place, with the same barrier of each.
HONE_DEVICE void tma_load(u32 to, const TensorMap& map, int x, int y, u32 barrier, u64 policy, u16 blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%0], [%1, {%2, %3}], [%4], "
      "%5, %6;" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"(blocks), "l"(policy)
      : "memory");
}
/// Copies a box from shared memory to (x, y).
HONE_DEVICE void tma_store(const TensorMap& map, int x, int y, u32 from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(x), "r"(y), "r"(from) : "memory");
}
HONE_DEVICE void bulk_commit_group() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Waits until all of the thread's stores but the newest `pending` have read their shared memory.
template <int pending> HONE_DEVICE void bulk_wait_group_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory"); }
/// Ordinary writes to shared memory before it are seen by bulk copies and warpgroup products behind the next barrier.
HONE_DEVICE void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// ---- warpgroups ---------------------------------------------------------------------------------------------------------------------------
template <int registers> HONE_DEVICE void setmaxnreg_dec() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers)); }
template <int registers> HONE_DEVICE void setmaxnreg_inc() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers)); }
/// Barrier `id` (1 to 15) among `threads` threads.
HONE_DEVICE void named_barrier_sync(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
/// Four 8 x 8 matrices of 16-bit elements, distributed as products leave them, to shared memory: lane i gives the address of row i % 8 of matrix i / 8.
HONE_DEVICE void stmatrix(u32 row, u32 a, u32 b, u32 c, u32 d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}

/// Describes an operand with 128-byte swizzle that begins at a multiple of 1024 bytes. Its lines of 128 bytes are rows along k (64 elements), or,
/// transposed, rows along m or n. Eight lines make a group; `stride` is from one group to the next, `leading` (transposed only) from one 64
/// elements of m or n to the next.
HONE_DEVICE u64 matrix_descriptor(u32 address, u32 leading, u32 stride) {
  return (u64)((address & 0x3ffff) >> 4) | (u64)(leading >> 4) << 16 | (u64)(stride >> 4) << 32 | (u64)1 << 62;
}

HONE_DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
HONE_DEVICE void wgmma_commit_group() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int pending> HONE_DEVICE void wgmma_wait_group() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory"); }

// sums[64 x n] (+)= a[64 x 16] * b[16 x n]. The lists of registers are written by macros: HONE_TEN(3) is "%30, ... %39, ".
#define HONE_TEN(t) "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t "9, "
#define HONE_NAMES_32 HONE_TEN() HONE_TEN(1) HONE_TEN(2) "%30, %31"
#define HONE_NAMES_64 HONE_TEN() HONE_TEN(1) HONE_TEN(2) HONE_TEN(3) HONE_TEN(4) HONE_TEN(5) "%60, %61, %62, %63"
#define HONE_NAMES_96 \
  HONE_TEN() HONE_TEN(1) HONE_TEN(2) HONE_TEN(3) HONE_TEN(4) HONE_TEN(5) HONE_TEN(6) HONE_TEN(7) HONE_TEN(8) "%90, %91, %92, %93, %94, %95"
#define HONE_NAMES_128                                                                                                              \
  HONE_TEN() HONE_TEN(1) HONE_TEN(2) HONE_TEN(3) HONE_TEN(4) HONE_TEN(5) HONE_TEN(6) HONE_TEN(7) HONE_TEN(8) HONE_TEN(9) HONE_TEN(10) \
  HONE_TEN(11) "%120, %121, %122, %123, %124, %125, %126, %127"
#define HONE_FOUR(i) "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3])
#define HONE_SIXTEEN(i) HONE_FOUR(i), HONE_FOUR(i + 4), HONE_FOUR(i + 8), HONE_FOUR(i + 12)
#define HONE_SUMS_32 HONE_SIXTEEN(0), HONE_SIXTEEN(16)
#define HONE_SUMS_64 HONE_SUMS_32, HONE_SIXTEEN(32), HONE_SIXTEEN(48)
#define HONE_SUMS_96 HONE_SUMS_64, HONE_SIXTEEN(64), HONE_SIXTEEN(80)
#define HONE_SUMS_128 HONE_SUMS_96, HONE_SIXTEEN(96), HONE_SIXTEEN(112)
// A0 to A4 are the numbers of the operands behind the sums.
#define HONE_PRODUCT(n, type, names, sums_list, A0, A1, A2, A3, A4)                                                                          \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" #A2 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" names "}, %" #A0 \
               ", %" #A1 ", add, 1, 1, %" #A3 ", %" #A4 ";\n}"                                                                                \
               : sums_list                                                                                                                  \
               : "l"(a), "l"(b), "r"((int)accumulate), "n"((int)transposed_a), "n"((int)transposed_b))
#define HONE_PRODUCTS(type)                                            \
  if constexpr (n == 64) {                                             \
    HONE_PRODUCT(64, type, HONE_NAMES_32, HONE_SUMS_32, 32, 33, 34, 35, 36);  \
  } else if constexpr (n == 128) {                                     \
    HONE_PRODUCT(128, type, HONE_NAMES_64, HONE_SUMS_64, 64, 65, 66, 67, 68); \
  } else if constexpr (n == 192) {                                     \
    HONE_PRODUCT(192, type, HONE_NAMES_96, HONE_SUMS_96, 96, 97, 98, 99, 100); \
  } else {                                                             \
    static_assert(n == 256);                                           \
    HONE_PRODUCT(256, type, HONE_NAMES_128, HONE_SUMS_128, 128, 129, 130, 131, 132); \
  }
/// Adds, or begins with, the product of two operands in shared memory. Lane l of warp w holds, for i < n / 8, rows w * 16 + l / 4 (sums[4i],
/// sums[4i + 1]) and 8 below (sums[4i + 2], sums[4i + 3]) of the columns 8i + l % 4 * 2 and the next.
template <class T, int n, bool transposed_a, bool transposed_b>
HONE_DEVICE void wgmma(float (&sums)[n / 2], u64 a, u64 b, bool accumulate) {
  if constexpr (kSame<T, bf16>) {
    HONE_PRODUCTS("bf16")
  } else {
    static_assert(kSame<T, f16>);
    HONE_PRODUCTS("f16")
  }
}
#undef HONE_PRODUCTS
#undef HONE_PRODUCT

#undef HONE_TEN
#undef HONE_NAMES_32
#undef HONE_NAMES_64
#undef HONE_NAMES_96
#undef HONE_NAMES_128
#undef HONE_FOUR
#undef HONE_SIXTEEN
#undef HONE_SUMS_32
#undef HONE_SUMS_64
#undef HONE_SUMS_96
#undef HONE_SUMS_128

// The names of 0.1. The next release drops them.
#define HONE_RENAMED(name) [[deprecated("use hopper::" name)]] HONE_DEVICE
HONE_RENAMED("mbarrier_init") void barrier_init(u32 barrier, u32 arrivals) { mbarrier_init(barrier, arrivals); }
HONE_RENAMED("fence_mbarrier_init") void fence_barrier_init() { fence_mbarrier_init(); }
HONE_RENAMED("mbarrier_arrive") void barrier_arrive(u32 barrier) { mbarrier_arrive(barrier); }
HONE_RENAMED("mbarrier_arrive_remote") void barrier_arrive_at(u32 barrier, u32 rank) { mbarrier_arrive_remote(barrier, rank); }
HONE_RENAMED("mbarrier_arrive_expect_tx") void barrier_arrive_expect(u32 barrier, u32 bytes) { mbarrier_arrive_expect_tx(barrier, bytes); }
HONE_RENAMED("mbarrier_wait") void barrier_wait(u32 barrier, u32 parity) { mbarrier_wait(barrier, parity); }
HONE_RENAMED("map_shared_rank") u32 address_in(u32 address, u32 rank) { return map_shared_rank(address, rank); }
HONE_RENAMED("prefetch_tensor_map") void prefetch_map(const TensorMap& map) { prefetch_tensor_map(map); }
HONE_RENAMED("tma_load") void copy_box(u32 to, const TensorMap& map, int x, int y, u32 barrier, u64 policy = kEvictNormal) {
  tma_load(to, map, x, y, barrier, policy);
}
HONE_RENAMED("tma_load") void copy_box(u32 to, const TensorMap& map, int x, int y, u32 barrier, u64 policy, u16 blocks) {
  tma_load(to, map, x, y, barrier, policy, blocks);
}
HONE_RENAMED("tma_store") void store_box(const TensorMap& map, int x, int y, u32 from) { tma_store(map, x, y, from); }
HONE_RENAMED("bulk_commit_group") void store_commit() { bulk_commit_group(); }
template <int pending> HONE_RENAMED("bulk_wait_group_read") void store_wait_read() { bulk_wait_group_read<pending>(); }
HONE_RENAMED("fence_proxy_async") void fence_async() { fence_proxy_async(); }
template <int registers> HONE_RENAMED("setmaxnreg_dec") void give_registers() { setmaxnreg_dec<registers>(); }
template <int registers> HONE_RENAMED("setmaxnreg_inc") void take_registers() { setmaxnreg_inc<registers>(); }
HONE_RENAMED("named_barrier_sync") void named_barrier(int id, int threads) { named_barrier_sync(id, threads); }
HONE_RENAMED("stmatrix") void store_matrices(u32 row, u32 a, u32 b, u32 c, u32 d) { stmatrix(row, a, b, c, d); }
HONE_RENAMED("matrix_descriptor") u64 operand(u32 address, u32 leading, u32 stride) { return matrix_descriptor(address, leading, stride); }
HONE_RENAMED("wgmma_fence") void products_begin() { wgmma_fence(); }
HONE_RENAMED("wgmma_commit_group") void products_commit() { wgmma_commit_group(); }
template <int pending> HONE_RENAMED("wgmma_wait_group") void products_wait() { wgmma_wait_group<pending>(); }
template <class T, int n, bool transposed_a, bool transposed_b>
HONE_RENAMED("wgmma") void multiply_add(float (&sums)[n / 2], u64 a, u64 b, bool accumulate) {
  wgmma<T, n, transposed_a, transposed_b>(sums, a, b, accumulate);
}
#undef HONE_RENAMED

}  // namespace hopper
#endif
