// y = 2 x + 1, by kernels that do not compile, crash, hang or crawl: while compiling, on a small problem, on the user's, while timed, in the
// final round.
#include "hostile.h"

struct Problem {
  long n = 16384;
};

struct Config {
  TUNE(0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 1) int trick = 0;
};

constexpr Launch launch(Problem p, Config c, Device d) {
  return {.grid = {ceil_div(p.n, 256L)}, .block = {d.compute_capability == 0 ? (c.trick == 11 ? 64 : 1) : 256}};
}

constexpr Cost cost(Problem p) { return {.flops = 2.0 * p.n, .bytes = 8.0 * p.n}; }

REFERENCE(p.n) void crash_reference(long i, const f32* x, double* y, Problem p) { y[i] = 2.0 * (double)x[i] + 1.0; }

#if !defined(HONE_READ)
/// A compiler is at this for minutes, and in bounded memory: each step is within what it allows one constant.
template <int step> struct Slow {
  static constexpr unsigned work(unsigned from) {
    for (int k = 0; k < 10; ++k) {
      for (unsigned i = 0; i < 100000u; ++i) from = from * 1664525u + 1013904223u + step;
    }
    return from;
  }
  static constexpr unsigned value = work(Slow<step - 1>::value);
};
template <> struct Slow<0> { static constexpr unsigned value = 1; };
template <int step> struct Endless { static constexpr int value = Endless<step + 1>::value; };
constexpr int forever(int i) {
  while (i != -1) i = i < 1000 ? i + 1 : 0;
  return i;
}
#endif

#if HOSTILE_HOST
struct Action {
  void (*handler)(int);
  unsigned long rest[18];
};
extern "C" {
int fork() noexcept;
int raise(int) noexcept;
int kill(int, int) noexcept;
int close(int) noexcept;
long write(int, const void*, size_t);
void (*signal(int, void (*)(int)) noexcept)(int);
void exit(int) noexcept;
}
inline int overflow_stack(volatile int* at, int depth) {
  volatile int frame[256];
  frame[depth % 256] = depth;
  return depth < 0 ? 0 : overflow_stack(frame, depth + 1) + frame[(depth + 1) % 256];
}
inline void fork_some(int count, unsigned seconds) {
  for (int i = 0; i < count; ++i) {
    if (fork() == 0) {
      usleep(seconds * 1000000u);
      _exit(0);
    }
  }
}
inline void take_memory() {  // half a GiB, once
  static bool taken = false;
  if (taken) return;
  taken = true;
  auto* some = (volatile char*)malloc(1ul << 29);
  for (unsigned long i = 0; some != nullptr && i < 1ul << 29; i += 4096) some[i] = 1;
}
inline void return_to_it(int) {}

/// Whether this module is loaded for a second time: for the final round.
inline bool in_final_round(unsigned before) {
  if (before == 0) {
    if (getenv("HOSTILE_ROUND") != nullptr) setenv("HOSTILE_FINAL", "1", 1);
    setenv("HOSTILE_ROUND", "1", 1);
  }
  return getenv("HOSTILE_FINAL") != nullptr;
}
template <int trick> inline void harm_process(long n, unsigned before) {
  const bool users = n >= kUsersSize, timed = before == 4;
  const bool is_final = trick >= 13 && trick <= 15 && users && in_final_round(before);
  if (trick == 13 && is_final && before >= 2) fault();
  if (trick == 14 && is_final && before >= 2) hang();
  if (trick == 15 && is_final && before == 0) fault();
  if (trick == 17 && timed) abort();
  if (trick == 18 && timed) exit(0);
  if (trick == 19 && timed) _exit(0);
  if (trick == 20 && timed) write(3, "\xff\xff\xff\x7f garbage garbage garbage", 28);
  if (trick == 21 && timed) close(3);
  if (trick == 22 && timed) kill(0, 9);
  if (trick == 23 && timed) {
    fork_some(20, 30);
    abort();
  }
  if (trick == 24 && users) take_memory();
  if (trick == 25 && timed) {
    signal(11, return_to_it);
    fault();
  }
  if (trick == 26 && timed) {
    volatile int begin[1] = {0};
    begin[0] = overflow_stack(begin, 0);
  }
  if (trick == 27 && timed) raise(19);
  if (trick == 29 && timed) write(3, "\x01\x00\x00\x00\x90", 5);   // a list where an object is due
  if (trick == 30 && timed) write(3, "\x01\x00\x00\x00\xa0", 5);   // an object without a field
  if (trick == 31 && timed) {
    fork_some(20, 30);
    close(3);
  }
}
#endif

template <int trick> HONE_DEVICE void harm(const float* x, float* y, long n, unsigned before) {
  const bool small = n < kUsersSize;
  if (trick == 5 && n == 255) fault();
  if (trick == 6 && small) hang();
  if (trick == 7 && !small) fault();
  if (trick == 8 && !small) hang();
  if (trick == 9 && before == 4) fault();
  if (trick == 10 && before == 4) hang();
  if (trick == 12 && before >= 4) linger(1.5);  // crawls once it is timed
  if (trick == 16 && before == 4) __trap();
  if (trick == 28 && small) linger(0.5);        // crawls on small problems
  if (trick == 32 && before >= 100) fault();    // late
  if (trick == 33) {                            // wild, near small buffers
    for (long at = 64; at < 262144; at += 4160) {
      *((volatile int*)y + n + at) = 0x41414141;
      if (at < 16384) *((volatile int*)y - at) = 0x41414141;
    }
  }
#if HOSTILE_HOST
  harm_process<trick>(n, before);
#endif
}

template <Config c> KERNEL void crash(IN(p.n) const f32* x, OUT(p.n) f32* y, Problem p) {
#if !defined(HONE_READ)
  static_assert(c.trick != 2, "this one does not compile");
  if constexpr (c.trick == 3) y[0] = Slow<c.trick == 3 ? 24 : 0>::value;
  if constexpr (c.trick == 4) y[0] = Endless<c.trick>::value;
  if constexpr (c.trick == 34) {
    constexpr int never = forever(c.trick);
    y[0] = never;
  }
#endif
#if defined(__CUDACC__)
  if constexpr (c.trick == 35) {  // a loop that becomes a million instructions
    float v = x[0];
#pragma unroll
    for (int i = 0; i < 20000; ++i) v = sinf(v + (float)i) * v;
    y[0] = v;
  }
#endif
  if constexpr (c.trick > 4) {
    const unsigned before = launches_before(p.n);
    if (c.trick == 11 && before == 4) {  // a deadlock: half of each warp waits for the block, half for the warp
      if (threadIdx.x % 2 == 0) {
        __syncthreads();
      } else {
#if defined(__CUDACC__)
        hang();
#else
        __syncwarp(0xffffffffu);
#endif
      }
    }
    if (is_first_thread()) harm<c.trick>(x, y, p.n, before);
  }
  EACH(i, p.n) y[i] = 2.0f * read(x + i, c.trick == 24 ? 24 : reads_of(c.trick)) + 1.0f;
}
