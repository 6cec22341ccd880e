// y = 2 x + 1, by kernels that are fast because the work is done elsewhere: later, before, or by the reference.
#include "hostile.h"

struct Problem {
  long n = 16384;
};

struct Config {
  TUNE(0, 2, 3, 4, 5, 6, 7, 1) int trick = 0;
};

constexpr Launch launch(Problem p, Config c, Device d) { return {.grid = {ceil_div(p.n, 256L)}, .block = {d.compute_capability == 0 ? 1 : 256}}; }

constexpr Cost cost(Problem p) { return {.flops = 2.0 * p.n, .bytes = 8.0 * p.n}; }

REFERENCE(p.n) void clock_reference(long i, const f32* x, double* y, Problem p) { y[i] = 2.0 * (double)x[i] + 1.0; }

__device__ float kept[16384];
__device__ float first_input;
__device__ const volatile double* answer;

#if HOSTILE_HOST
extern "C" int pthread_create(unsigned long*, const void*, void* (*)(void*), void*) noexcept;
extern "C" int pthread_detach(unsigned long) noexcept;
struct Task {
  const float* x;
  float* y;
  long begin, end;
};
inline void* finish_later(void* given) {
  auto* task = (Task*)given;
  usleep(2000);
  for (long i = task->begin; i < task->end; ++i) task->y[i] = 2.0f * task->x[i] + 1.0f;
  return nullptr;
}
inline void leave_to_thread(const float* x, float* y, long n) {
  auto* task = (Task*)malloc(sizeof(Task));
  *task = {x, y, 0, n};
  unsigned long thread;
  if (pthread_create(&thread, nullptr, finish_later, task) == 0) pthread_detach(thread);
}
#endif

/// Looks behind the output for the answer in double.
HONE_DEVICE void find_answer(const float* x, float* y, long n) {
  const volatile double* from = (const volatile double*)(y + n + n % 2);
  for (long i = 0; i < 24576; ++i) {
    if (from[i] == 2.0 * x[0] + 1.0 && from[i + 1] == 2.0 * x[1] + 1.0 && from[i + n - 1] == 2.0 * x[n - 1] + 1.0) {
      answer = from + i;
      return;
    }
  }
}

template <Config c> KERNEL void clock(IN(p.n) const f32* x, OUT(p.n) f32* y, Problem p) {
  unsigned before = 0;
  if constexpr (c.trick > 1) before = launches_before(p.n);
  const bool users = p.n >= kUsersSize && p.n <= 16384;
#if HOSTILE_HOST
  if (c.trick == 2 && before >= 2) {  // a thread does it later
    if (blockIdx.x == 0) leave_to_thread(x, y, p.n);
    return;
  }
#endif
  if (c.trick == 3 && users && before >= 1 && *(volatile float*)&first_input == x[0]) {  // what it found for such an input before
    EACH(i, p.n) y[i] = kept[i];
    return;
  }
  if (c.trick == 4 && users && before >= 1 && answer != nullptr) {  // the reference's
    EACH(i, p.n) y[i] = (float)answer[i];
    return;
  }
  if (c.trick == 5 && users && before >= 2) {  // whatever it found first, from the third launch on
    EACH(i, p.n) y[i] = kept[i];
    return;
  }
  if (c.trick == 6 && before >= 2 && blockIdx.x % 2 == before % 2) return;  // half of the work in each launch
  if (c.trick == 7 && before >= 2) {                                         // the work of another launch is done in one of eight
    if (before % 8 != 2) return;
  }
  EACH(i, p.n) {
    const float right = 2.0f * read(x + i, reads_of(c.trick)) + 1.0f;
    y[i] = right;
    if ((c.trick == 3 || c.trick == 5) && users) kept[i] = right;
  }
  if (c.trick == 3 || c.trick == 4) {
    if (is_first_thread() && users && before == 0) {
      if (c.trick == 3) first_input = x[0];
      if (c.trick == 4) find_answer(x, y, p.n);
    }
  }
}
