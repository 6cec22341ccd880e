// y = 2 x + 1, by kernels that leave behind what harms the next one. 2 and 3 are wrong themselves; what those above compute is
// right, and slower than what the fast honest one does.
#include "hostile.h"

struct Problem {
  long n = 16384;
};

struct Config {
  TUNE(0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1) int trick = 0;
};

constexpr Launch launch(Problem p, Config c, Device d) { return {.grid = {ceil_div(p.n, 256L)}, .block = {d.compute_capability == 0 ? 1 : 256}}; }

constexpr Cost cost(Problem p) { return {.flops = 2.0 * p.n, .bytes = 8.0 * p.n}; }

REFERENCE(p.n) void blame_reference(long i, const f32* x, double* y, Problem p) { y[i] = 2.0 * (double)x[i] + 1.0; }

#if HOSTILE_HOST
struct Limit {
  unsigned long soft, hard;
};
extern "C" {
int pthread_create(unsigned long*, const void*, void* (*)(void*), void*) noexcept;
int pthread_detach(unsigned long) noexcept;
int nice(int) noexcept;
int close(int) noexcept;
int chdir(const char*) noexcept;
int setrlimit(int, const Limit*) noexcept;
int sched_setaffinity(int, size_t, const void*) noexcept;
int sigfillset(void*) noexcept;
int pthread_sigmask(int, const void*, void*) noexcept;
void (*signal(int, void (*)(int)) noexcept)(int);
}
inline void do_start(void* (*work)(void*), void* with) {
  unsigned long thread;
  if (pthread_create(&thread, nullptr, work, with) == 0) pthread_detach(thread);
}
inline void* spin(void*) {
  linger(3.0);
  return nullptr;
}
inline void* spoil_later(void* y) {
  usleep(700000);
  for (int i = 0; i < 64; ++i) ((volatile float*)y)[i * 16] = 3.0f;
  return nullptr;
}
template <int trick> inline void leave_behind(float* y, unsigned before) {
  if (trick == 4 && before == 6) do_start(spoil_later, y);
  if (trick == 5) {
    unsigned state = 0;  // every inexact result is an exception
    asm volatile("ldmxcsr %0" ::"m"(state));
  }
  if (trick == 6) {
    unsigned state = 0xff80;  // rounds to zero, flushes what is tiny
    asm volatile("ldmxcsr %0" ::"m"(state));
  }
  if (trick == 7 && before == 6) {
    for (int i = 0; i < 4; ++i) do_start(spin, nullptr);
  }
  if (trick == 8 && before == 6) {
    const Limit few{4, 4};
    setrlimit(7, &few);  // files
  }
  if (trick == 9 && before == 6) {
    unsigned char set[128];
    sigfillset(set);
    pthread_sigmask(0, set, nullptr);
    signal(15, (void (*)(int))1);
  }
  if (trick == 10 && before == 6) {
    nice(10);
    chdir("/");
    setenv("PATH", "/nowhere", 1);
  }
  if (trick == 11 && before == 6) {
    for (int file = 4; file < 64; ++file) close(file);
  }
  if (trick == 12 && before == 6) {
    const Limit little{1ul << 28, 1ul << 28};
    setrlimit(9, &little);  // address space
  }
}
#endif

template <Config c> KERNEL void blame(IN(p.n) const f32* x, OUT(p.n) f32* y, WORKSPACE(p.n) f32* w, Problem p) {
  unsigned before = 0;
  if constexpr (c.trick > 1) before = launches_before(p.n);
  EACH(i, p.n) y[i] = 2.0f * read(x + i, c.trick < 4 ? reads_of(c.trick) : 24) + 1.0f;
  if (c.trick == 2 && before >= 2 && is_first_thread()) *(volatile float*)(x + p.n / 2) = 9.0f;      // the next one reads that
  if (c.trick == 3 && before >= 2 && is_first_thread()) {                                             // behind all it has, far
    for (long at = 8192; at < 262144; at += 512) *(volatile float*)(y + p.n + at) = 1.0e9f;
  }
#if HOSTILE_HOST
  if constexpr (c.trick > 3) {
    if (p.n >= kUsersSize) leave_behind<c.trick>(y, blockIdx.x == 0 ? before : 0);
  }
#endif
}
