// Many steps towards 1 for each element, bound by arithmetic: bench/planted.py makes it take steps in vain, or one too long.
#include <hone/kernel.h>

struct Problem {
  long n = 1L << 20;
  long steps = 4000;
};

struct Config {
  TUNE(128, 256) int block = 256;  // threads in a block
};

constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block)}, .block = {c.block}}; }

constexpr Cost cost(Problem p) { return {.flops = 2.0 * p.n * p.steps, .bytes = 8.0 * p.n}; }

REFERENCE(p.n) void steps_reference(long i, const float* x, double* y, Problem p) {
  double value = x[i];
  for (long step = 0; step < p.steps; ++step) value = 0.75 * value + 0.25;
  y[i] = value;
}

constexpr int kMorePercent = 0;  // of its time, about, spent on steps in vain: 4.4 % more take 5.6 % longer on an H100
constexpr bool kWrong = false;   // one step of one element

template <Config c>
KERNEL LAUNCH_BOUNDS(c.block) void steps(IN(p.n) const float* x, OUT(p.n) float* y, Problem p) {
  const long i = (long)blockIdx.x * c.block + threadIdx.x;
  if (i >= p.n) return;
  float value = x[i], in_vain = x[i];
#pragma unroll 8
  for (long step = 0; step < p.steps; ++step) value = 0.75f * value + 0.25f;
#pragma unroll 8
  for (long step = 0; step < p.steps / 800 * 7 * kMorePercent; ++step) in_vain = 0.75f * in_vain + 0.25f;
  if (kMorePercent != 0) value += 0.0f * in_vain;
  if (kWrong && i == p.n / 2) value += 0.01f;
  y[i] = value;
}
