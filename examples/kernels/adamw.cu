// One step of AdamW (Loshchilov and Hutter 2019, arXiv:1711.05101), in place.
#include <hone/kernel.h>

struct Problem {
  long n = 1L << 24;  // weights
};

struct Config {
  TUNE(64, 128, 256, 512, 1024) int block = 256;  // threads in a block
  TUNE(1, 2, 4) int vec = 1;                      // elements in one access
};

constexpr bool valid(Problem p, Config c, Device d) {
  if (c.block > d.threads_per_block) return false;  // the device's limit
  return p.n % c.vec == 0;                          // no access reaches beyond the end
}

constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block * c.vec)}, .block = {c.block}}; }

constexpr Cost cost(Problem p) { return {.flops = 12.0 * p.n, .bytes = 28.0 * p.n}; }

REFERENCE(p.n) void adamw_reference(long i, const float* gradient, double* weight, double* mean, double* square, float rate, float decay) {
  const double g = gradient[i];
  mean[i] = 0.9 * mean[i] + 0.1 * g;
  square[i] = 0.999 * square[i] + 0.001 * g * g;
  weight[i] -= rate * (mean[i] / (sqrt(square[i]) + 1e-8) + decay * weight[i]);
}

template <Config c>
KERNEL LAUNCH_BOUNDS(c.block)
void adamw(IN(p.n, .normal) const float* gradient, INOUT(p.n) float* weight, INOUT(p.n, .normal) float* mean,
           INOUT(p.n, .low = 0.01, .below = 1) float* square, SCALAR(0.001) float rate, SCALAR(0.01) float decay, Problem p) {
  const long first = ((long)blockIdx.x * c.block + threadIdx.x) * c.vec;
  if (first >= p.n) return;
  const Vector<float, c.vec> g = load<c.vec>(gradient + first);
  Vector<float, c.vec> w = load<c.vec>(weight + first), m = load<c.vec>(mean + first), s = load<c.vec>(square + first);
#pragma unroll
  for (int e = 0; e < c.vec; ++e) {
    m[e] = 0.9f * m[e] + 0.1f * g[e];
    s[e] = 0.999f * s[e] + 0.001f * g[e] * g[e];
    w[e] -= rate * (m[e] / (sqrtf(s[e]) + 1e-8f) + decay * w[e]);
  }
  store(weight + first, w);
  store(mean + first, m);
  store(square + first, s);
}
