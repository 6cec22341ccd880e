// Quantization of each row to 8-bit integers: y = round(x * 127 / max |x|), and the row's step. A row of zeros stays zeros.
#include <hone/kernel.h>
#include "rowmax.h"

struct Problem {
  long rows = 4096;
  long cols = 4096;
};

struct Config {
  TUNE(32, 64, 128, 256, 512) int block = 256;  // threads of a row
  TUNE(1, 2, 4, 8) int vec = 1;                 // elements in one access
};

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.block > d.threads_per_block) return false;  // the device's limit
  if (c.vec * sizeof(T) > 16) return false;         // the widest access there is
  return p.cols % c.vec == 0;                       // every row begins with a whole access
}

constexpr Launch launch(Problem p, Config c) { return {.grid = {p.rows}, .block = {c.block}}; }

template <class T> constexpr Cost cost(Problem p) {
  return {.flops = 2.0 * p.rows * p.cols, .bytes = (double)p.rows * p.cols * (sizeof(T) + 1) + 4.0 * p.rows};
}

// An integer is right or wrong, so the reference rounds as the kernel does: in float. Of a row first the largest magnitude, then its elements,
// then the step.
template <class T> REFERENCE(p.rows) void quantize_i8_reference_largest(long i, const T* x, double* step, Problem p) {
  step[i] = 0.0;
  for (long col = 0; col < p.cols; ++col) {
    step[i] = fmax(step[i], fabs((double)(float)x[i * p.cols + col]));
  }
}
template <class T> REFERENCE(p.rows * p.cols) void quantize_i8_reference(long i, const T* x, double* y, double* step, Problem p) {
  const float largest = (float)step[i / p.cols];
  y[i] = largest > 0.0f ? rint((double)((float)x[i] * (127.0f / largest))) : 0.0;
}
template <class T> REFERENCE(p.rows) void quantize_i8_reference_step(long i, double* step, Problem p) { step[i] = step[i] / 127.0; }

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.block)
void quantize_i8(IN(p.rows * p.cols) const T* x, OUT(p.rows * p.cols) i8* y, OUT(p.rows) float* step, Problem p) {
  const long begin = blockIdx.x * p.cols;
  float mine = 0.0f;
  for (long col = (long)threadIdx.x * c.vec; col < p.cols; col += c.block * c.vec) {
    const Vector<T, c.vec> in = load<c.vec>(x + begin + col);
#pragma unroll
    for (int e = 0; e < c.vec; ++e) mine = fmaxf(mine, fabsf((float)in[e]));
  }
  const float largest = largest_of_block<c.block>(mine), scale = largest > 0.0f ? 127.0f / largest : 0.0f;
  for (long col = (long)threadIdx.x * c.vec; col < p.cols; col += c.block * c.vec) {
    const Vector<T, c.vec> in = load<c.vec>(x + begin + col);
    Vector<i8, c.vec> out;
#pragma unroll
    for (int e = 0; e < c.vec; ++e) out[e] = (i8)__float2int_rn((float)in[e] * scale);
    store(y + begin + col, out);
  }
  if (threadIdx.x == 0) step[blockIdx.x] = largest / 127.0f;
}
