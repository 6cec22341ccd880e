#pragma once
// A kernel file that doubles n elements: nine configurations, quick to compile, right on every device.

namespace hone::test {

inline constexpr const char* kTwice = R"cuda(#include <hone/kernel.h>
struct Problem { long n = 64; };
struct Config { TUNE(32, 64, 128) int block = 64; TUNE(1, 2, 4) int items = 1; };
constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block * c.items)}, .block = {c.block}}; }
template <class T> constexpr Cost cost(Problem p) { return {.flops = 1.0 * p.n, .bytes = 2.0 * p.n * sizeof(T)}; }
template <class T> REFERENCE(p.n) void twice_reference(long i, const T* x, double* y, Problem p) { y[i] = 2.0 * (double)(float)x[i]; }
template <class T, Config c> KERNEL void twice(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) {
  for (int k = 0; k < c.items; ++k) {
    const long i = ((long)blockIdx.x * c.items + k) * c.block + threadIdx.x;
    if (i < p.n) y[i] = T(2.0f * (float)x[i]);
  }
}
)cuda";

}  // namespace hone::test
