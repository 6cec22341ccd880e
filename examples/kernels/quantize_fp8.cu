// Quantization of each row to 8-bit floats: y = x * most / max |x|, and what to multiply y with to have x back. A row of zeros stays zeros.
#include <hone/kernel.h>
#include <hone/kernel_narrow.h>
#include "rowmax.h"

struct Problem {
  long rows = 4096;
  long cols = 4096;
};

struct Config {
  TUNE(32, 64, 128, 256, 512) int block = 256;  // threads of a row
  TUNE(1, 2, 4, 8) int vec = 1;                 // elements in one access
};

template <class In> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.block > d.threads_per_block) return false;  // the device's limit
  if (c.vec * sizeof(In) > 16) return false;        // the widest access there is
  return p.cols % c.vec == 0;                       // every row begins with a whole access
}

constexpr Launch launch(Problem p, Config c) { return {.grid = {p.rows}, .block = {c.block}}; }

template <class In, class Out> constexpr Cost cost(Problem p) {
  return {.flops = 2.0 * p.rows * p.cols, .bytes = (double)p.rows * p.cols * (sizeof(In) + sizeof(Out)) + 4.0 * p.rows};
}

template <class In, class Out> REFERENCE(p.rows) void quantize_fp8_reference_largest(long i, const In* x, double* step, Problem p) {
  step[i] = 0.0;
  for (long col = 0; col < p.cols; ++col) {
    step[i] = fmax(step[i], fabs((double)(float)x[i * p.cols + col]));
  }
}
template <class In, class Out> REFERENCE(p.rows * p.cols) void quantize_fp8_reference(long i, const In* x, double* y, double* step, Problem p) {
  const double largest = step[i / p.cols];
  y[i] = largest > 0.0 ? (double)(float)x[i] * ((double)Out::largest / largest) : 0.0;
}
template <class In, class Out> REFERENCE(p.rows) void quantize_fp8_reference_step(long i, double* step, Problem p) {
  step[i] = step[i] / (double)Out::largest;
}

template <class In, class Out, Config c>
KERNEL DTYPES(In = f32 | f16 | bf16, Out = e4m3 | e5m2) LAUNCH_BOUNDS(c.block)
void quantize_fp8(IN(p.rows * p.cols) const In* x, OUT(p.rows * p.cols) Out* y, OUT(p.rows) float* step, Problem p) {
  const long begin = blockIdx.x * p.cols;
  float mine = 0.0f;
  for (long col = (long)threadIdx.x * c.vec; col < p.cols; col += c.block * c.vec) {
    const Vector<In, c.vec> in = load<c.vec>(x + begin + col);
#pragma unroll
    for (int e = 0; e < c.vec; ++e) mine = fmaxf(mine, fabsf((float)in[e]));
  }
  const float largest = largest_of_block<c.block>(mine), scale = largest > 0.0f ? Out::largest / largest : 0.0f;
  for (long col = (long)threadIdx.x * c.vec; col < p.cols; col += c.block * c.vec) {
    const Vector<In, c.vec> in = load<c.vec>(x + begin + col);
    Vector<Out, c.vec> out;
#pragma unroll
    for (int e = 0; e < c.vec; ++e) out[e] = Out((float)in[e] * scale);
    store(y + begin + col, out);
  }
  if (threadIdx.x == 0) step[blockIdx.x] = largest / Out::largest;
}
