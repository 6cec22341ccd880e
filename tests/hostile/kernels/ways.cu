// acc += scale x in place, and y, the larger of two neighbours, in every way that is right.
#include "hostile.h"

struct Problem {
  long n = 16384;
};

struct Config {
  TUNE(0, 1, 2, 3, 4, 5, 6, 7, 8, 9) int trick = 0;
};

constexpr bool valid(Problem p, Config c) {
  return c.trick != 9 || p.n % 4 == 0;  // whole words of 16 bytes
}

constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, 256L)}, .block = {64}}; }

constexpr Cost cost(Problem p) { return {.flops = 3.0 * p.n, .bytes = 16.0 * p.n, .sum_length = 2}; }

REFERENCE(p.n) void ways_reference(long i, const f32* x, double* acc, double* y, float scale, Problem p) {
  const double v = (double)x[i], next = (double)x[(i + 1) % p.n];
  acc[i] += (double)scale * v;
  y[i] = v > next ? v : next;
}

template <Config c>
KERNEL void ways(IN(p.n) const f32* x, INOUT(p.n) f32* acc, OUT(p.n) f32* y, SCALAR(0.75) float scale, Problem p) {
  const long block = c.trick == 8 ? gridDim.x - 1 - blockIdx.x : blockIdx.x;  // from the end
  const long end = min_of(p.n, (block + 1) * kTile);
  if constexpr (c.trick == 9) {  // words of 16 bytes, which is what buffers are aligned to
    for (long i = block * kTile + threadIdx.x * 4; i < end; i += 256) {
      const Vector<float, 4> v = load<4>(x + i);
      Vector<float, 4> sum = load<4>(acc + i);
      for (int k = 0; k < 4; ++k) sum[k] += scale * v[k];
      store(acc + i, sum);
      for (int k = 0; k < 4; ++k) y[i + k] = max(v[k], x[(i + k + 1) % p.n]);
    }
    return;
  }
  for (long i = block * kTile + threadIdx.x; i < end; i += 64) {
    const float v = x[i], next = x[(i + 1) % p.n];
    float larger = c.trick == 7 ? (v >= next ? v : next) : max(v, next);
    if (c.trick == 2) {
      acc[i] = fma(scale, v, acc[i]);
    } else if (c.trick == 3) {
      acc[i] = (float)((double)scale * (double)v + (double)acc[i]);
    } else if (c.trick == 6) {  // without numbers below the smallest normal one
      const float product = scale * v;
      const float sum = acc[i] + (product < 1.2e-38f && product > -1.2e-38f ? 0.0f : product);
      acc[i] = sum < 1.2e-38f && sum > -1.2e-38f ? 0.0f : sum;
      larger = larger < 1.2e-38f && larger > -1.2e-38f ? 0.0f : larger;
    } else {
      acc[i] += scale * v;
    }
    if (c.trick == 5) *(volatile float*)(y + i) = 0.0f;  // written twice
    y[i] = larger;
    if (c.trick == 4 && i + 1 < p.n) {  // and by its neighbour as well: the same value
      const float again = max(next, x[(i + 2) % p.n]);
      *(volatile float*)(y + i + 1) = again;
    }
  }
}
