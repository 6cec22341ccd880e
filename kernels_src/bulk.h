#pragma once
// What arrives in shared memory and is counted there (Hopper): bulk copies from device memory (cp.async.bulk), of which one thread starts many
// without registers or instructions while bytes are under way, and words of a cluster's other blocks. Only for configurations whose `valid`
// asks for compute capability 9.0; elsewhere the functions copy at once.
#include <hone/kernel.h>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr bool kBulkCopies = false;  // for kernels that have another way
#else
constexpr bool kBulkCopies = true;
#endif

#if defined(__CUDACC__)
HONE_DEVICE unsigned shared_address(const void* at) { return (unsigned)__cvta_generic_to_shared(at); }

using Mbarrier = unsigned long long;  // an mbarrier: completes a phase when the bytes it expects have arrived

/// Before a barrier. A phase is complete after `count` arrivals, and when the bytes that it expects are there.
HONE_DEVICE void mbarrier_init(Mbarrier* arrival, int count = 1) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1; fence.mbarrier_init.release.cluster;" ::"r"(shared_address(arrival)), "r"(count)
               : "memory");
}
/// What this thread has written is seen by those that await the phase.
HONE_DEVICE void mbarrier_arrive(Mbarrier* arrival) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(arrival)) : "memory");
}
HONE_DEVICE void mbarrier_wait(Mbarrier* arrival, unsigned phase) {
  asm volatile("{ .reg .pred done; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1; @!done bra AGAIN; }" ::"r"(
                   shared_address(arrival)),
               "r"(phase)
               : "memory");
}
/// Expects `bytes` more bytes in this phase; a phase has one such call.
HONE_DEVICE void mbarrier_arrive_expect_tx(Mbarrier* arrival, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(arrival)), "r"(bytes) : "memory");
}
/// Addresses and bytes are multiples of 16. `stream`: the lines leave L2 first.
template <bool stream> HONE_DEVICE void bulk_load(void* to, const void* from, unsigned bytes, Mbarrier* arrival) {
  if constexpr (stream) {
    asm volatile(
        "{ .reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0;"
        " cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], policy; }" ::"r"(
            shared_address(to)),
        "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(arrival))
        : "memory");
  } else {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(arrival))
                 : "memory");
  }
}
/// Starts a copy to device memory; bulk_wait_group_read waits until at most `pending` of this thread's copies still read shared memory.
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
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/// What this thread wrote to shared memory is seen by bulk copies that start after the next barrier.
HONE_DEVICE void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
template <int pending> HONE_DEVICE void bulk_wait_group_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory"); }

/// Arrives at the cluster's barrier without a release, which would wait for all that is under way to memory.
HONE_DEVICE void cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
/// Writes the 4 bytes at `word` in the shared memory of block `rank` of the cluster, and has them counted by its `arrival`.
HONE_DEVICE void store_remote_async(float* word, int rank, float value, Mbarrier* arrival) {
  asm volatile(
      "{ .reg .u32 at, there; mapa.shared::cluster.u32 at, %0, %2; mapa.shared::cluster.u32 there, %1, %2;"
      " st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [at], %3, [there]; }" ::"r"(shared_address(word)),
      "r"(shared_address(arrival)), "r"(rank), "r"(__float_as_uint(value))
      : "memory");
}
#else
// Without the hardware a copy is done when it is asked for; the threads of a block take turns, so nothing needs to be atomic.
struct Mbarrier {
  int count, missing;
  unsigned phase;
};

HONE_DEVICE void mbarrier_init(Mbarrier* arrival, int count = 1) { *arrival = {count, count, 0}; }
HONE_DEVICE void mbarrier_arrive(Mbarrier* arrival) {
  if (--arrival->missing == 0) {
    arrival->missing = arrival->count;
    arrival->phase ^= 1;
  }
}
HONE_DEVICE void mbarrier_wait(const volatile Mbarrier* arrival, unsigned phase) {
  while (arrival->phase == phase) __nanosleep(1);
}
HONE_DEVICE void mbarrier_arrive_expect_tx(Mbarrier* arrival, unsigned) { mbarrier_arrive(arrival); }
HONE_DEVICE void copy_now(void* to, const void* from, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) static_cast<unsigned char*>(to)[i] = static_cast<const unsigned char*>(from)[i];
}
template <bool stream> HONE_DEVICE void bulk_load(void* to, const void* from, unsigned bytes, Mbarrier*) { copy_now(to, from, bytes); }
template <bool stream> HONE_DEVICE void bulk_store(void* to, const void* from, unsigned bytes) { copy_now(to, from, bytes); }
HONE_DEVICE void fence_proxy_async() {}
template <int pending> HONE_DEVICE void bulk_wait_group_read() {}
HONE_DEVICE void cluster_arrive_relaxed() {}  // the cpu device has no clusters
HONE_DEVICE void store_remote_async(float*, int, float, Mbarrier*) {}
#endif
