// Matrix product of few columns, by a thread for each element: one more kernel of the operation matmul.
#include <hone/kernel.h>

// The Problem and the arguments are those of `hone kernels matmul`, and so are the right answer and the cost: this file needs neither.
OPERATION(matmul);

struct Problem {
  long m = 1024, n = 1024, k = 1024;
  long layout = 1, terms = 1, activation = 1;
};
struct Config {
  TUNE(32, 64, 128, 256) int block = 64;
  TUNE(1, 2, 4) int rows = 1;  // a thread computes, of one column
};

template <class T>
constexpr bool valid(Problem p, Config c) {
  if (p.layout != 1) return false;      // a[m, k] b[k, n]
  if (p.terms != 1) return false;       // nothing is added
  if (p.activation != 1) return false;  // and nothing applied
  return p.n <= 256;                    // what it is for
}
constexpr Launch launch(Problem p, Config c) {
  return {.grid = {ceil_div(p.n, (long)c.block), ceil_div(p.m, (long)c.rows)}, .block = {c.block}};
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.block)
void narrow_matmul(IN(p.m * p.k) const T* a, IN(p.k * p.n) const T* b, IN(1) const T* added, IN(1) const T* bias, OUT(p.m * p.n) T* out,
                   SCALAR(1.0) float alpha, SCALAR(1.0) float beta, Problem p) {
  const long column = blockIdx.x * (long)c.block + threadIdx.x, first = blockIdx.y * (long)c.rows;
  if (column >= p.n) return;
  float sums[c.rows] = {};
  for (long i = 0; i < p.k; ++i) {
    const float x = (float)b[i * p.n + column];
#pragma unroll
    for (int r = 0; r < c.rows; ++r) {
      if (first + r < p.m) sums[r] += (float)a[(first + r) * p.k + i] * x;
    }
  }
#pragma unroll
  for (int r = 0; r < c.rows; ++r) {
    if (first + r < p.m) out[(first + r) * p.n + column] = T(alpha * sums[r]);
  }
}
