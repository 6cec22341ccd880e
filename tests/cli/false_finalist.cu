// y = 2 x. Two fast configurations do well in their trials and fail in the final round: HONE_TEST_MARK names a file that tells it from the search.
#include <hone/kernel.h>

#if !defined(HONE_READ) && !defined(__CUDACC__)
extern "C" char* getenv(const char*);
extern "C" int creat(const char*, unsigned);
extern "C" int access(const char*, int);
#endif

struct Problem {
  long n = 4096;
};

struct Config {
  TUNE(0, 1, 2, 3, 4) int behaviour = 0;  // slow, faster, crashes as a finalist, hangs as a finalist, slow and the last to be tried
};

constexpr bool valid(Problem p, Config c) { return p.n > 0; }

constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, 64L)}, .block = {64}}; }

template <class T> constexpr Cost cost(Problem p) { return {.flops = 1.0 * p.n, .bytes = 2.0 * p.n * sizeof(T)}; }

template <class T> REFERENCE(p.n) void false_finalist_reference(long i, const T* x, double* y, Problem p) { y[i] = 2.0 * (double)(float)x[i]; }

/// Whether the search is over: the last of the configurations has left a file that says so, in whatever process it ran.
template <Config c> HONE_DEVICE bool is_finalist() {
#if !defined(HONE_READ) && !defined(__CUDACC__)
  const char* const mark = getenv("HONE_TEST_MARK");
  if (c.behaviour == 4) creat(mark, 0600);
  return access(mark, 0) == 0;
#else
  return false;
#endif
}

template <class T, Config c> KERNEL void false_finalist(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) {
  const long i = (long)blockIdx.x * 64 + threadIdx.x;
  if constexpr (c.behaviour >= 2) {
    if (i == 0 && p.n == 4096 && is_finalist<c>() && c.behaviour < 4) {
      volatile int forever = 1;
      while (c.behaviour == 3 && forever) {
      }
      *(volatile int*)8 = 1;
    }
  }
  if (i >= p.n) return;
  float value = 2.0f * (float)x[i];
  volatile float slow = value;
  for (int k = 0; k < (c.behaviour == 0 || c.behaviour == 4 ? 8000 : c.behaviour == 1 ? 2000 : 0); ++k) slow = slow + 0.0f;
  y[i] = T(c.behaviour < 2 || c.behaviour == 4 ? (float)slow : value);
}
