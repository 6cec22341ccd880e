// Residual connection and normalization in one: sum = x + residual, y[r, c] = sum[r, c] / sqrt(mean of sum[r, :]^2 + epsilon) * weight[c].
// The statistics and y are those of the sum before it is rounded to T.
#include <hone/kernel.h>

constexpr bool kResidual = true, kBiased = false;
#include "../norm.h"

template <class T> constexpr Cost cost(Problem p) {
  return {.flops = 5.0 * p.rows * p.cols, .bytes = (4.0 * p.rows + 1) * p.cols * sizeof(T), .sum_length = 1.0 * p.cols};
}

template <class T>
REFERENCE(p.rows)
void residual_rmsnorm_reference(long r, const T* x, const T* residual, const T* weight, double* sum, double* y, float epsilon, Problem p) {
  const long first = r * p.cols;
  double squares = 0;
  for_each_in_row(x + first, p.cols, [&](long c, double value) {
    const double total = value + (double)(float)residual[first + c];
    sum[first + c] = total;
    squares += total * total;
  });
  const double scale = 1.0 / sqrt(squares / p.cols + (double)epsilon);
  for (long c = 0; c < p.cols; ++c) y[first + c] = sum[first + c] * scale * (double)(float)weight[c];
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(threads_of(c), c.min_blocks)
void residual_rmsnorm(IN(p.rows * p.cols) const T* __restrict__ x, IN(p.rows * p.cols) const T* __restrict__ residual,
                      IN(p.cols) const T* __restrict__ weight, OUT(p.rows * p.cols) T* __restrict__ sum,
                      OUT(p.rows * p.cols) T* __restrict__ y, SCALAR(1e-5) float epsilon, Problem p) {
  __shared__ ReduceStorage<SquareSum> slots[2];
  SHARED_DYNAMIC(T, shared);
  const NormArguments<T> arguments = {x, residual, weight, nullptr, y, sum};
  Packet<T, vec<T>(c)>* kept = reinterpret_cast<Packet<T, vec<T>(c)>*>(shared) + threadIdx.x;
  const Rows<T, c, 2> rows = {p.rows, p.cols, c.cluster, {x, residual}, shared};
  Norm<T, c, SquareSum>{arguments, slots, kept, {weight, {}}, {}}.run(rows, epsilon);
}
