// Twice a vector, bound by memory: bench/planted.py makes it read more than it needs, or double one element wrongly.
#include <hone/kernel.h>

struct Problem {
  long n = 1L << 26;
};

struct Config {
  TUNE(256, 512) int block = 256;  // threads in a block
};

constexpr bool valid(Problem p, Config c) { return p.n % 4 == 0; }

constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, 4L * c.block)}, .block = {c.block}}; }

constexpr Cost cost(Problem p) { return {.flops = 1.0 * p.n, .bytes = 8.0 * p.n}; }

REFERENCE(p.n) void bytes_reference(long i, const float* x, double* y, Problem p) { y[i] = 2.0 * x[i]; }

constexpr int kMorePercent = 0;  // of its time, about, spent on reading in vain
constexpr bool kWrong = false;   // the middle element

template <Config c>
KERNEL void bytes(IN(p.n) const float* x, OUT(p.n) float* y, Problem p) {
  const long first = ((long)blockIdx.x * c.block + threadIdx.x) * 4;
  if (first >= p.n) return;
  Vector<float, 4> v = load<4>(x + first);
  float in_vain = 0.0f;
  // Reads cost less than what is read and written: on an H100, 5 % more bytes took 3.2 % longer, 8 % took 6.1 %. These are 7 % for 5.
  if (first < p.n / 100 * kMorePercent * 14 / 5) {
    const Vector<float, 4> far = load<4>(x + (p.n - 4 - first));
    for (int e = 0; e < 4; ++e) in_vain += 0.0f * far[e];
  }
  for (int e = 0; e < 4; ++e) v[e] = 2.0f * v[e] + in_vain;
  if (kWrong && first <= p.n / 2 && p.n / 2 < first + 4) v[p.n / 2 - first] += 0.5f;
  store(y + first, v);
}
