// y = 2 x + z, by kernels that write where they must not, most of them only after they were validated.
#include "hostile.h"

struct Problem {
  long n = 16384;
};

struct Config {
  TUNE(0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 1) int trick = 0;
};

constexpr Launch launch(Problem p, Config c, Device d) { return {.grid = {ceil_div(p.n, 256L)}, .block = {d.compute_capability == 0 ? 1 : 256}}; }

constexpr Cost cost(Problem p) { return {.flops = 2.0 * p.n, .bytes = 12.0 * p.n}; }

REFERENCE(p.n) void trespass_reference(long i, const f32* x, const f32* z, double* y, Problem p) { y[i] = 2.0 * (double)x[i] + (double)z[i]; }

HONE_DEVICE void spoil(volatile void* at, int bytes) {
  for (int i = 0; i < bytes; ++i) ((volatile unsigned char*)at)[i] += 1;
}

/// Looks behind the output for the answer in double that it is held against, and makes that its own.
HONE_DEVICE void change_answer(const float* x, const float* z, float* y, long n) {
  const volatile double* from = (const volatile double*)(y + n + n % 2);
  for (long i = 0; i < 24576; ++i) {
    if (from[i] == 2.0 * x[0] + z[0] && from[i + 1] == 2.0 * x[1] + z[1] && from[i + n - 1] == 2.0 * x[n - 1] + z[n - 1]) {
      *(double*)(from + i) = 77.0;
      *(volatile float*)y = 77.0f;
      return;
    }
  }
}

template <int trick> HONE_DEVICE void trespass_now(const float* x, const float* z, float* y, int* w, long n, unsigned before) {
  const bool timed = before >= 2;
  char* end = (char*)(y + n);
  if (trick == 2 && timed) spoil(end, 1);
  if (trick == 3 && timed) spoil(end, 16);
  if (trick == 4 && timed) spoil(end + 5120, 16);
  if (trick == 5 && timed) spoil(end + (1 << 20), 16);
  if (trick == 6 && timed) spoil((char*)y - 16, 16);
  if (trick == 7 && timed) ((volatile float*)x)[5] = 0.25f * before;
  if (trick == 8) ((volatile float*)x)[5] = 0.25f;  // at once
  if (trick == 9 && n >= kUsersSize && before < 2) change_answer(x, z, y, n);
  if (trick == 10 && timed) spoil(w + n, 64);
  if (trick == 11 && n < kUsersSize) spoil(end, 4);    // at small problems alone
  if (trick == 12 && n >= kUsersSize) spoil(end + 5120, 16);  // at once
  if (trick == 13 && before == 5) {                    // all around
    for (long at = -32768; at < 32768; at += 4096) spoil(at < 0 ? (char*)y + at - 64 : end + at + 64, 32);
  }
  if (trick == 14 && timed) ((volatile float*)z)[n - 1] = 3.0f;
}

template <Config c>
KERNEL void trespass(IN(p.n) const f32* x, IN(p.n) const f32* z, OUT(p.n) f32* y, WORKSPACE(p.n) i32* w, Problem p) {
  unsigned before = 0;
  if constexpr (c.trick > 1) before = launches_before(p.n);
  EACH(i, p.n) y[i] = 2.0f * read(x + i, reads_of(c.trick)) + z[i];
  if constexpr (c.trick > 1) {
    if (is_first_thread()) trespass_now<c.trick>(x, z, y, w, p.n, before);
  }
}
