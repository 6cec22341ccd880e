#include <hone/kernel.h>
struct Problem { long n = 8; };
struct Config { TUNE(1, 2) int a = 1; };
constexpr long f(long x) { return x < 2 ? x : f(x - 1) + f(x - 2); }
constexpr bool valid(Problem p, Config c) {
  const long b = c.a * p.n, d = b * b, e = d * d, g = e * e, h = g * g, i = h * h, j = i * i, k = j * j, l = k * k, m = l * l, o = m * m, q = o * o, r = q * q, s = r * r;
  return f(s) > 1;
}
constexpr Launch launch(Problem p, Config c) { return {.grid = {p.n}, .block = {32}}; }
REFERENCE(p.n) void doubling_reference(long i, double* y, Problem p) { y[i] = 1; }
template <Config c> KERNEL void doubling(OUT(p.n) float* y, Problem p) { y[0] = 1; }
