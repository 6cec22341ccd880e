#pragma once
// What compute capability 9.0 added: dependent launches, mbarriers, bulk copies, clusters, copies by tensor maps (TMA) and matrix products
// of a warpgroup. Names and rules are those of the PTX ISA (https://docs.nvidia.com/cuda/parallel-thread-execution); a function is one
// instruction unless its comment says more. Include this file after <hone/kernel.h>.
//
// Functions that take pointers compile everywhere: the cpu device copies at once, and other architectures omit what they lack. `valid`
// must still require compute capability 9.0. Functions that take shared addresses, tensor maps or registers exist only where HONE_HOPPER is
// defined: a kernel file must also compile for other architectures.

#if defined(__CUDACC__) && defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define HONE_HOPPER
#endif

namespace hopper {

using u16 = unsigned short;
using u32 = unsigned;
using u64 = unsigned long long;

// ---- dependent launches (Launch::overlap) -------------------------------------------------------------------------------------------------
/// grid_dependency_wait, and launch_dependents in the last 2048 blocks of the grid. Earlier blocks have ended when the next kernel could
/// begin, and each call takes time: on an H200 a copy of 32768 blocks took 40.5 us when all blocks called it, 33.3 when none did.
HONE_DEVICE void grid_dependency_sync() {
  constexpr unsigned kLast = 2048;
  grid_dependency_wait();
  if (blockIdx.x + kLast >= gridDim.x) launch_dependents();
}

/// grid_dependency_wait after the arithmetic that computes these two addresses. The compiler moves arithmetic that a wait does not use
/// after the wait, where it delays the first load (in gemv by 200 instructions).
HONE_DEVICE void grid_dependency_wait_after(const void* first, const void* second) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile(
      "{ .reg .b64 both; .reg .pred known; or.b64 both, %0, %1; setp.ne.b64 known, both, 0; @known griddepcontrol.wait; }" ::"l"(first),
      "l"(second)
      : "memory");
#else
  (void)first;
  (void)second;
#endif
}

/// Fetches `bytes` bytes, a multiple of 16, from device memory into L2 only. This is safe before grid_dependency_wait, even if the
/// previous kernel is still writing, because all writes go through L2.
HONE_DEVICE void bulk_prefetch_l2(const void* from, long bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(from)), "r"((unsigned)bytes) : "memory");
#endif
}

/// The first blocks of a grid prefetch this many bytes in total: the memory traffic of the microsecond between two kernels, in which memory
/// would be idle. More made kernels slower again.
constexpr unsigned kPrefetchBytes = 4 << 20;
/// Whether a prefetch helps a copy or transpose that reads this many bytes. 64 MiB and more (32 us and more on an H200) take up to a
/// hundredth longer with it when no kernel runs before them.
HONE_DEVICE bool prefetch_pays(long bytes) { return bytes <= 32 << 20; }

/// Prefetches the first 32 KiB of a block's `bytes` bytes into L2, in the first blocks of the grid (kPrefetchBytes). One thread of a block
/// calls it, before grid_dependency_sync.
HONE_DEVICE void prefetch_l2(const void* from, long bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  constexpr long kMost = 32 << 10;
  const unsigned long at = (unsigned long)__cvta_generic_to_global(from), begin = at & ~15UL;
  const unsigned size = ((unsigned)(at - begin) + (unsigned)min_of(bytes, kMost) + 15) & ~15U;
  if (bytes > 0 && (unsigned long)blockIdx.x * size < kPrefetchBytes) {
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(begin), "r"(size) : "memory");
  }
#endif
}

/// Prefetches the line of 128 bytes that holds `from` into L2. For blocks that read many short pieces: each thread calls it for one line.
HONE_DEVICE void prefetch_l2_line(const void* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(from)) : "memory");
#endif
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr bool kBulkCopies = false;  // for kernels that have another way
#else
constexpr bool kBulkCopies = true;
#endif

#if defined(__CUDACC__)
/// A shared memory address as the instructions take it.
HONE_DEVICE u32 shared_address(const void* pointer) { return (u32)__cvta_generic_to_shared(pointer); }

// ---- mbarriers ----------------------------------------------------------------------------------------------------------------------------
/// A barrier in shared memory, of 8 bytes. Functions take a pointer to it or its shared address.
using Mbarrier = u64;

/// A phase of the barrier ends after `arrivals` arrivals and after all expected bytes.
HONE_DEVICE void mbarrier_init(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// Makes initialized barriers visible to the cluster and to bulk copies; a thread barrier must follow.
HONE_DEVICE void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
/// mbarrier_init and fence_mbarrier_init.
HONE_DEVICE void mbarrier_init(Mbarrier* barrier, u32 arrivals = 1) {
  mbarrier_init(shared_address(barrier), arrivals);
  fence_mbarrier_init();
}
/// Threads that wait for the end of the phase see this thread's earlier writes.
HONE_DEVICE void mbarrier_arrive(u32 barrier) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory"); }
HONE_DEVICE void mbarrier_arrive(Mbarrier* barrier) { mbarrier_arrive(shared_address(barrier)); }
/// Arrives at the barrier of the same address in block `rank` of the cluster.
HONE_DEVICE void mbarrier_arrive_remote(u32 barrier, u32 rank) {
  asm volatile(
      "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\nmbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}
/// Arrives, and makes the phase expect `bytes` more bytes.
HONE_DEVICE void mbarrier_arrive_expect_tx(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
HONE_DEVICE void mbarrier_arrive_expect_tx(Mbarrier* barrier, u32 bytes) { mbarrier_arrive_expect_tx(shared_address(barrier), bytes); }
/// Waits for the end of the phase of this parity; the first phase has parity 0, and waiting for 1 before it ended returns at once.
HONE_DEVICE void mbarrier_wait(u32 barrier, u32 parity) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra end;\nbra again;\nend:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}
/// The same as a loop with one branch; the bulk-copy kernels were measured with this form. ptxas allocates registers differently.
HONE_DEVICE void mbarrier_wait(Mbarrier* barrier, u32 parity) {
  asm volatile("{ .reg .pred done; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1; @!done bra AGAIN; }" ::"r"(
                   shared_address(barrier)),
               "r"(parity)
               : "memory");
}

// ---- bulk copies: addresses and bytes are multiples of 16 ---------------------------------------------------------------------------------
/// Starts a copy from device memory to shared memory, which reports its bytes to `barrier`. `stream`: its lines leave L2 first.
template <bool stream> HONE_DEVICE void bulk_load(void* to, const void* from, unsigned bytes, Mbarrier* barrier) {
  if constexpr (stream) {
    asm volatile(
        "{ .reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0;"
        " cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], policy; }" ::"r"(
            shared_address(to)),
        "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(barrier))
        : "memory");
  } else {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
  }
}
/// Closes the group of this thread's bulk stores.
HONE_DEVICE void bulk_commit_group() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Waits until all of this thread's groups except the newest `pending` have read their shared memory.
template <int pending> HONE_DEVICE void bulk_wait_group_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory"); }
/// Starts a copy from shared memory to device memory, in its own group.
template <bool stream> HONE_DEVICE void bulk_store(void* to, const void* from, unsigned bytes) {
  if constexpr (stream) {
    asm volatile(
        "{ .reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0;"
        " cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, policy; }" ::"l"(__cvta_generic_to_global(to)),
        "r"(shared_address(from)), "r"(bytes)
        : "memory");
  } else {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)),
                 "r"(shared_address(from)), "r"(bytes)
                 : "memory");
  }
  bulk_commit_group();
}
/// Bulk copies and warpgroup products that start after the next barrier see what this thread wrote to shared memory.
HONE_DEVICE void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// ---- clusters -----------------------------------------------------------------------------------------------------------------------------
HONE_DEVICE u32 cluster_rank() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
HONE_DEVICE void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
/// Arrives without a release, which would wait for all pending memory accesses.
HONE_DEVICE void cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
HONE_DEVICE void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
HONE_DEVICE void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

/// The address in block `rank` that corresponds to a shared address of this block.
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
/// Writes the 4 bytes at `to` in the shared memory of block `rank` of the cluster.
HONE_DEVICE void store_remote(float* to, int rank, float value) {
  asm volatile("{ .reg .u32 at; mapa.shared::cluster.u32 at, %0, %1; st.shared::cluster.f32 [at], %2; }" ::"r"(shared_address(to)),
               "r"(rank), "f"(value)
               : "memory");
}
/// Like store_remote; in addition, that block's barrier at the address of `barrier` counts the 4 bytes.
HONE_DEVICE void store_remote_async(float* to, int rank, float value, Mbarrier* barrier) {
  asm volatile(
      "{ .reg .u32 at, there; mapa.shared::cluster.u32 at, %0, %2; mapa.shared::cluster.u32 there, %1, %2;"
      " st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [at], %3, [there]; }" ::"r"(shared_address(to)),
      "r"(shared_address(barrier)), "r"(rank), "r"(__float_as_uint(value))
      : "memory");
}
/// The same for two floats, to remote addresses (map_shared_rank).
HONE_DEVICE void store_remote_async(u32 to, float x, float y, u32 barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];" ::"r"(to), "r"(__float_as_uint(x)),
               "r"(__float_as_uint(y)), "r"(barrier)
               : "memory");
}

// ---- shared memory by address -------------------------------------------------------------------------------------------------------------
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

// ---- copies by tensor maps (TMA) ----------------------------------------------------------------------------------------------------------
HONE_DEVICE void prefetch_tensor_map(const TensorMap& map) { asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory"); }
/// How long L2 keeps the lines that a copy reads: the encodings of createpolicy's evict_normal and evict_first for all of it.
constexpr u64 kEvictNormal = 0x1000000000000000, kEvictFirst = 0x12f0000000000000;
/// Copies the box at (x, y) to shared memory and reports its bytes to `barrier`.
HONE_DEVICE void tma_load(u32 to, const TensorMap& map, int x, int y, u32 barrier, u64 policy = kEvictNormal) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier), "l"(policy)
      : "memory");
}
/// Multicast: copies the box into every block of the cluster whose bit is set, at the same address, and reports to each block's barrier.
HONE_DEVICE void tma_load(u32 to, const TensorMap& map, int x, int y, u32 barrier, u64 policy, u16 blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%0], [%1, {%2, %3}], [%4], "
      "%5, %6;" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"(blocks), "l"(policy)
      : "memory");
}
/// Copies a box from shared memory to (x, y); bulk_commit_group closes the group.
HONE_DEVICE void tma_store(const TensorMap& map, int x, int y, u32 from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(x), "r"(y), "r"(from) : "memory");
}

// ---- matrix products of a warpgroup (four warps) on operands in shared memory --------------------------------------------------------------
template <class A, class B> inline constexpr bool kSame = false;
template <class A> inline constexpr bool kSame<A, A> = true;

template <int registers> HONE_DEVICE void setmaxnreg_dec() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers)); }
template <int registers> HONE_DEVICE void setmaxnreg_inc() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers)); }
/// Barrier `id` (1 to 15) among `threads` threads.
HONE_DEVICE void named_barrier_sync(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
/// Four 8 x 8 matrices of 16-bit elements, distributed as products leave them, to shared memory: lane i gives the address of row i % 8 of
/// matrix i / 8.
HONE_DEVICE void stmatrix(u32 row, u32 a, u32 b, u32 c, u32 d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}

/// Describes an operand with 128-byte swizzle that begins at a multiple of 1024 bytes. Its lines of 128 bytes are rows along k (64
/// elements), or, transposed, rows along m or n. Eight lines form a group; `stride` is the distance between groups, `leading` (transposed
/// only) the distance between runs of 64 elements of m or n.
HONE_DEVICE u64 matrix_descriptor(u32 address, u32 leading, u32 stride) {
  return (u64)((address & 0x3ffff) >> 4) | (u64)(leading >> 4) << 16 | (u64)(stride >> 4) << 32 | (u64)1 << 62;
}

HONE_DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
HONE_DEVICE void wgmma_commit_group() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int pending> HONE_DEVICE void wgmma_wait_group() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory"); }

// Hone leaves these out of programs that do not name them: NVRTC takes 4 ms to read them.
#if !defined(HONE_NO_WGMMA)
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
// A0 to A4 are the numbers of the operands after the sums.
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
/// Adds the product of two operands in shared memory, or starts with it. Lane l of warp w holds, for i < n / 8, rows w * 16 + l / 4
/// (sums[4i], sums[4i + 1]) and 8 below (sums[4i + 2], sums[4i + 3]) of the columns 8i + l % 4 * 2 and the next.
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
#endif

// The names of 0.1; the next release removes them.
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
#if !defined(HONE_NO_WGMMA)
template <class T, int n, bool transposed_a, bool transposed_b>
HONE_RENAMED("wgmma") void multiply_add(float (&sums)[n / 2], u64 a, u64 b, bool accumulate) {
  wgmma<T, n, transposed_a, transposed_b>(sums, a, b, accumulate);
}
#endif
#undef HONE_RENAMED
#else
// The cpu device. A copy completes at once; the threads of a block take turns, so nothing needs to be atomic. There are no
// clusters.
struct Mbarrier {
  int count, missing;
  unsigned phase;
};

HONE_DEVICE void mbarrier_init(Mbarrier* barrier, int arrivals = 1) { *barrier = {arrivals, arrivals, 0}; }
HONE_DEVICE void mbarrier_arrive(Mbarrier* barrier) {
  if (--barrier->missing == 0) {
    barrier->missing = barrier->count;
    barrier->phase ^= 1;
  }
}
HONE_DEVICE void mbarrier_arrive_expect_tx(Mbarrier* barrier, unsigned) { mbarrier_arrive(barrier); }
HONE_DEVICE void mbarrier_wait(const volatile Mbarrier* barrier, unsigned parity) {
  while (barrier->phase == parity) __nanosleep(1);
}
HONE_DEVICE void copy_bytes(void* to, const void* from, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) static_cast<unsigned char*>(to)[i] = static_cast<const unsigned char*>(from)[i];
}
template <bool stream> HONE_DEVICE void bulk_load(void* to, const void* from, unsigned bytes, Mbarrier*) { copy_bytes(to, from, bytes); }
template <bool stream> HONE_DEVICE void bulk_store(void* to, const void* from, unsigned bytes) { copy_bytes(to, from, bytes); }
template <int pending> HONE_DEVICE void bulk_wait_group_read() {}
HONE_DEVICE void fence_proxy_async() {}
HONE_DEVICE u32 cluster_rank() { return 0; }
HONE_DEVICE void cluster_arrive() {}
HONE_DEVICE void cluster_arrive_relaxed() {}
HONE_DEVICE void cluster_wait() {}
HONE_DEVICE void cluster_sync() {}
HONE_DEVICE void store_remote(float* to, int, float value) { *to = value; }
HONE_DEVICE void store_remote_async(float*, int, float, Mbarrier*) {}
#endif

}  // namespace hopper
