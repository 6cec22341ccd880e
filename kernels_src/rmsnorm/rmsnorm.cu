// Row-wise root mean square normalization: y[r, c] = x[r, c] / sqrt(mean of x[r, :]^2 + epsilon) * weight[c].
#include <hone/kernel.h>

constexpr bool kResidual = false, kBiased = false;
#include "../norm.h"

template <class T> constexpr Cost cost(Problem p) {
  return {.flops = 4.0 * p.rows * p.cols, .bytes = (2.0 * p.rows + 1) * p.cols * sizeof(T), .sum_length = 1.0 * p.cols};
}

template <class T>
REFERENCE(p.rows) void rmsnorm_reference(long r, const T* x, const T* weight, double* y, float epsilon, Problem p) {
  const T* row = x + r * p.cols;
  double squares = 0;
  for_each_in_row(row, p.cols, [&](long, double value) { squares += value * value; });
  const double scale = 1.0 / sqrt(squares / p.cols + (double)epsilon);
  for_each_in_row(row, p.cols, [&](long c, double value) { y[r * p.cols + c] = value * scale * (double)(float)weight[c]; });
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(threads_of(c), c.min_blocks)
void rmsnorm(IN(p.rows * p.cols) const T* __restrict__ x, IN(p.cols) const T* __restrict__ weight,
             OUT(p.rows * p.cols) T* __restrict__ y, SCALAR(1e-5) float epsilon, Problem p) {
  __shared__ ReduceStorage<SquareSum> slots[2];
  SHARED_DYNAMIC(T, shared);
  const NormArguments<T> arguments = {x, nullptr, weight, nullptr, y, nullptr};
  Packet<T, vec<T>(c)>* kept = reinterpret_cast<Packet<T, vec<T>(c)>*>(shared) + threadIdx.x;
  const Rows<T, c> rows = {p.rows, p.cols, c.cluster, {x}, shared};
  Norm<T, c, SquareSum>{arguments, slots, kept, {weight, {}}, {}}.run(rows, epsilon);
}
