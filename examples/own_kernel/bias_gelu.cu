// Bias and GELU in one pass: y[r, c] = gelu(x[r, c] + bias[c]), with the tanh form of GELU.
#include <hone/kernel.h>

struct Problem {
  long rows = 4096, cols = 4096;
};

struct Config {
  TUNE(64, 128, 256, 512) int block = 256;        // threads in a block
  TUNE(1, 2, 4, 8) int vec = 1;                   // elements in one load
  TUNE(1, 2, 4, 8, 16) int rows_per_block = 1;    // rows a thread goes down: the bias is loaded once for all of them
  TUNE(false, true) bool fast_exp = false;        // the hardware's exponential instead of the exact one
};

template <class T> constexpr bool valid(Problem p, Config c) {
  return p.cols % c.vec == 0 && c.vec * sizeof(T) <= 16;
}

// Rows along x, of which a grid may have two thousand million blocks: along y it may have 65,535.
constexpr Launch launch(Problem p, Config c) {
  return {.grid = {ceil_div(p.rows, (long)c.rows_per_block), ceil_div(p.cols, (long)c.block * c.vec)}, .block = {c.block}};
}

template <class T> constexpr Cost cost(Problem p) {
  return {.flops = 10.0 * p.rows * p.cols, .bytes = (2.0 * p.rows * p.cols + p.cols) * sizeof(T)};
}

template <class T> REFERENCE(p.rows * p.cols) void bias_gelu_reference(long i, const T* x, const T* bias, double* y, Problem p) {
  const double u = (double)(float)x[i] + (double)(float)bias[i % p.cols];
  y[i] = 0.5 * u * (1.0 + tanh(0.7978845608028654 * (u + 0.044715 * u * u * u)));
}

template <Config c> HONE_DEVICE float gelu(float u) {
  const float v = 0.7978845608f * (u + 0.044715f * u * u * u);
  // (1 + tanh(v)) / 2 = 1 / (1 + exp(-2v)), and this side of it does not cancel where tanh is close to -1.
  return u / (1.0f + (c.fast_exp ? __expf(-2.0f * v) : expf(-2.0f * v)));
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.block)
void bias_gelu(IN(p.rows * p.cols) const T* x, IN(p.cols) const T* bias, OUT(p.rows * p.cols) T* y, Problem p) {
  const long column = ((long)blockIdx.y * c.block + threadIdx.x) * c.vec;
  if (column >= p.cols) return;
  const Vector<T, c.vec> b = load<c.vec>(bias + column);
  const long first = (long)blockIdx.x * c.rows_per_block;
  for (long row = first; row < min_of(first + c.rows_per_block, p.rows); ++row) {
    Vector<T, c.vec> values = load<c.vec>(x + row * p.cols + column);
    for (int i = 0; i < c.vec; ++i) values[i] = T(gelu<c>((float)values[i] + (float)b[i]));
    store(y + row * p.cols + column, values);
  }
}
