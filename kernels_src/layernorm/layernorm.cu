// Row-wise layer normalization: y[r, c] = (x[r, c] - mean_r) / sqrt(variance_r + epsilon) * weight[c] + bias[c].
#include <hone/kernel.h>

constexpr bool kResidual = false, kBiased = true;
#include "../norm.h"

template <class T> constexpr Cost cost(Problem p) {
  return {.flops = 8.0 * p.rows * p.cols, .bytes = 2.0 * (p.rows + 1) * p.cols * sizeof(T), .sum_length = 1.0 * p.cols};
}

template <class T>
REFERENCE(p.rows)
void layernorm_reference(long r, const T* x, const T* weight, const T* bias, double* y, float epsilon, Problem p) {
  const T* row = x + r * p.cols;
  double mean = 0, variance = 0;
  for_each_in_row(row, p.cols, [&](long, double value) { mean += value; });
  mean /= p.cols;
  for_each_in_row(row, p.cols, [&](long, double value) { variance += (value - mean) * (value - mean); });
  const double scale = 1.0 / sqrt(variance / p.cols + (double)epsilon);
  for_each_in_row(row, p.cols, [&](long c, double value) {
    y[r * p.cols + c] = (value - mean) * scale * (double)(float)weight[c] + (double)(float)bias[c];
  });
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(threads_of(c), c.min_blocks)
void layernorm(IN(p.rows * p.cols) const T* __restrict__ x, IN(p.cols) const T* __restrict__ weight, IN(p.cols) const T* __restrict__ bias,
               OUT(p.rows * p.cols) T* __restrict__ y, SCALAR(1e-5) float epsilon, Problem p) {
  __shared__ ReduceStorage<typename ReducedOf<Moments, c.two_pass>::type> slots[2];
  SHARED_DYNAMIC(T, shared);
  const NormArguments<T> arguments = {x, nullptr, weight, bias, y, nullptr};
  Packet<T, vec<T>(c)>* kept = reinterpret_cast<Packet<T, vec<T>(c)>*>(shared) + threadIdx.x;
  const Rows<T, c> rows = {p.rows, p.cols, c.cluster, {x}, shared};
  Norm<T, c, Moments>{arguments, slots, kept, {weight, {}}, {bias, {}}}.run(rows, epsilon);
}
