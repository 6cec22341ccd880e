// The middle of a gated MLP: y = silu(gate) * up.
#include <hone/kernel.h>

struct Problem {
  long n = 1L << 22;  // elements
};

struct Config {
  TUNE(64, 128, 256, 512) int block = 256;  // threads in a block
  TUNE(1, 2, 4, 8) int vec = 4;             // elements in one access
};

template <class T>
constexpr bool valid(Problem p, Config c, Device d) {
  if (c.block > d.threads_per_block) return false;  // the device's limit
  if (c.vec * sizeof(T) > 16) return false;         // the widest access there is
  return p.n % c.vec == 0;                          // no access beyond the end
}

constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block * c.vec)}, .block = {c.block}}; }

template <class T>
constexpr Cost cost(Problem p) {
  return {.flops = 5.0 * p.n, .bytes = 3.0 * p.n * sizeof(T)};
}

template <class T>
REFERENCE(p.n)
void gated_reference(long i, const T* gate, const T* up, double* y, Problem p) {
  const double x = (float)gate[i];
  y[i] = x / (1.0 + exp(-x)) * (double)(float)up[i];
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.block) void gated(IN(p.n) const T* gate, IN(p.n) const T* up, OUT(p.n) T* y, Problem p) {
  const long first = (blockIdx.x * (long)c.block + threadIdx.x) * c.vec;
  if (first >= p.n) return;
  const Vector<T, c.vec> x = load<c.vec>(gate + first), factor = load<c.vec>(up + first);
  Vector<T, c.vec> result;
#pragma unroll
  for (int e = 0; e < c.vec; ++e) result[e] = T((float)x[e] / (1.0f + expf(-(float)x[e])) * (float)factor[e]);
  store(y + first, result);
}
