// y = 2 x, by configurations that fail at a stage of their trial: bench/failures.py puts in when the last of them begins to.
#include <hone/kernel.h>

struct Problem {
  long n = 1 << 20;
};

struct Config {
  TUNE(0, 1, 2, 3, 4, 5) int stage = 0;  // none, compile, small problem, the user's problem, timing, final round
  TUNE(0, 1, 2, 3, 4) int failure = 0;   // hang, crash, crawl; a wrong result, ten times slower and more
  TUNE(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31) int spare = 0;
  TUNE(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31) int more = 0;  // as spare: a session on a GPU tries many
};

constexpr bool valid(Problem p, Config c) { return c.stage == 0 || (c.spare == 0 && c.more == 0); }

constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, 256L)}, .block = {256}}; }

template <class T> constexpr Cost cost(Problem p) { return {.flops = 1.0 * p.n, .bytes = 2.0 * p.n * sizeof(T)}; }

template <class T> REFERENCE(p.n) void failing_reference(long i, const T* x, double* y, Problem p) { y[i] = 2.0 * (double)(float)x[i]; }

// Twice as many types at each level: no compiler comes to the end.
template <int depth, class... Path> struct Explosion {
  static constexpr int value = Explosion<depth - 1, Path..., char>::value + Explosion<depth - 1, Path..., int>::value;
};
template <class... Path> struct Explosion<0, Path...> {
  static constexpr int value = 1;
};

__device__ int never;     // becomes other than 0
__device__ int launches;  // on the user's problem, of this configuration

#if !defined(HONE_READ) && !defined(__CUDACC__)
extern "C" long time(long*);
#endif

// Seconds since 1970.
HONE_DEVICE long seconds_now() {
#if defined(__CUDA_ARCH__)
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return (long)(now / 1000000000ULL);
#elif !defined(HONE_READ) && !defined(__CUDACC__)
  return time(nullptr);
#else
  return 0;
#endif
}

template <class T, Config c> KERNEL void failing(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) {
  constexpr long kSmall = 1 << 16;
  constexpr int kTimed = TIMED_FROM;  // launches of a trial that come before it is timed, and a few more
  const long i = (long)blockIdx.x * 256 + threadIdx.x;
  if constexpr (c.stage == 1 && c.failure == 1) {
    static_assert(c.failure != 1, "this configuration does not compile");
  } else if constexpr (c.stage == 1) {
    static_assert(Explosion<c.failure == 0 ? 40 : 18>::value > 0);  // one never ends, the other by and by
  }
  bool fails = false;
  if (c.stage == 2) fails = p.n < kSmall;
  if (c.stage == 3) fails = p.n >= kSmall;
  if (c.stage == 4 && p.n >= kSmall) {
    fails = *(volatile int*)&launches >= kTimed;
    if (i == 0) *(volatile int*)&launches = launches + 1;
  }
  if (c.stage == 5) fails = seconds_now() >= FINAL_FROM;
  if (fails && i == 0) {
    volatile long turn = 0;
    if (c.failure == 0) {
      while (*(volatile int*)&never == 0) {
      }
    }
    if (c.failure == 1) *(volatile int*)8 = 1;
    if (c.failure == 2) {
      for (; turn < CRAWL_TURNS; turn = turn + 1) {
        if (*(volatile int*)&never != 0) break;
      }
    }
  }
  if (i >= p.n) return;
  float factor = 2.0f;
  if (fails && c.failure == 3) factor = 3.0f;
  if (fails && c.failure == 4) {
    for (volatile int turn = 0; turn < 640; turn = turn + 1) {
    }
  }
  if (c.stage == 0 || c.failure >= 3) {  // the honest ones are a little slower: who fails in the final round has to come that far
    for (int k = 1; k <= 8; ++k) factor = factor * (1.0f + (float)(p.n == -k));
  }
  y[i] = T(factor * (float)x[i]);
}
