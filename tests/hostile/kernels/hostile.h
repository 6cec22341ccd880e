#pragma once
// What the hostile kernels share. In each of them `trick` 0 is right and slow (the default), 1 is right and several times faster, and every
// other one would be the fastest of all if it were believed. 1 is the last value: with the strategy `exhaustive` it is tried behind the hostile
// one, and would pay for the damage that one did.
//
// Everything is bounded, so that no case harms its host: a hang ends by itself, forks and memory are few.
#include <hone/kernel.h>

#if !defined(HONE_READ) && !defined(__CUDACC__)
#define HOSTILE_HOST 1
extern "C" {
void abort() noexcept;
void _exit(int) noexcept;
int usleep(unsigned) noexcept;
void* malloc(size_t) noexcept;
char* getenv(const char*) noexcept;
int setenv(const char*, const char*, int) noexcept;
}
#else
#define HOSTILE_HOST 0
#endif

constexpr long kTile = 256;        // elements of a block: 256 threads of one each, on the cpu device one thread
constexpr long kUsersSize = 4096;  // problems of fewer elements are those that validation adds

HONE_BOTH constexpr int reads_of(int trick) { return trick == 0 ? 64 : trick == 1 ? 8 : 1; }

/// *at, which takes as long as `times` loads one after the other: what is right and slow does more of them.
HONE_DEVICE float read(const float* at, int times) {
  float value = *(const volatile float*)at;
  for (int i = 1; i < times; ++i) value = *(const volatile float*)(at + (__float_as_int(value) == 0x7fc0dead ? 1 : 0));
  return value;
}

/// Elements of this block, shared by its threads.
#define EACH(i, n) for (long i = blockIdx.x * kTile + threadIdx.x, end_##i = min_of((long)(n), (blockIdx.x + 1L) * kTile); i < end_##i; i += blockDim.x)

__device__ unsigned counter[2];  // blocks that began in this launch, launches that ended

/// Launches before this one of the problem that the user asked for, in this module. All threads of all blocks must ask.
HONE_DEVICE unsigned launches_before(long n) {
  if (n < kUsersSize) return 0;
  __shared__ unsigned number;
  if (threadIdx.x == 0) {
    number = *(volatile unsigned*)(counter + 1);
    __threadfence();
    if (atomicAdd(counter, 1u) == gridDim.x - 1) {
      *(volatile unsigned*)counter = 0;
      *(volatile unsigned*)(counter + 1) = number + 1;
    }
  }
  __syncthreads();
  return number;
}

HONE_DEVICE bool is_first_thread() { return blockIdx.x == 0 && threadIdx.x == 0; }

#if defined(__CUDACC__)
HONE_DEVICE long long now_ns() {
  long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}
#elif HOSTILE_HOST
struct HostTime {
  long seconds, nanoseconds;
};
extern "C" int clock_gettime(int, HostTime*) noexcept;
inline long long now_ns() {
  HostTime now;
  clock_gettime(1, &now);
  return now.seconds * 1000000000LL + now.nanoseconds;
}
#else
long long now_ns();
#endif

/// Takes so long, and ends: a hang of 100 s outlives every deadline that matters.
HONE_DEVICE void linger(double seconds) {
  const long long end = now_ns() + (long long)(seconds * 1e9);
  while (now_ns() < end) {
  }
}
HONE_DEVICE void hang() { linger(100.0); }

/// Writes to where nothing is.
HONE_DEVICE void fault() { *(volatile int*)8 = 1; }
