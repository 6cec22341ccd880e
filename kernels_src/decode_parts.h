#pragma once
// The second pass of decoding: adds up the parts of a sequence.
#include "approximate.h"

/// Two columns of a row, from the results of its parts: [parts, rows, columns] and the logarithms of their sums of exponentials, [parts,
/// rows].
template <class T, int most_parts, int columns>
HONE_DEVICE void add_parts(int parts, long rows, long row, int column, const float* part_out, const float* part_lse, T* out, float* lse) {
  constexpr int kAtOnce = min_of(most_parts, 16);  // parts whose loads share a latency
  float most = -INFINITY, total = 0;
  Vector<float, 2> sum = {};
  for (int first = 0; first < parts; first += kAtOnce) {
    float part[kAtOnce], top = most;
    Vector<float, 2> pair[kAtOnce] = {};
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const long from = (first + i) * rows + row;
      part[i] = -INFINITY;
      if (first + i >= parts) continue;
      part[i] = part_lse[from];
      pair[i] = load<2>(part_out + from * columns + column);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) top = fmaxf(top, part[i]);
    const float offset = top == -INFINITY ? 0.0f : top, rescale = power_of_two((most - offset) * 1.44269504f);
    most = top;
    total *= rescale;
    sum = {sum[0] * rescale, sum[1] * rescale};
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const float weight = power_of_two((part[i] - offset) * 1.44269504f);
      total += weight;
      sum = {sum[0] + weight * pair[i][0], sum[1] + weight * pair[i][1]};
    }
  }
  store(out + row * columns + column, Vector<T, 2>{T(sum[0] / total), T(sum[1] / total)});
  if (column == 0) lse[row] = most + logf(total);
}
