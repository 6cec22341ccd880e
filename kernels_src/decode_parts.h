#pragma once
// The second pass of decoding: adds up the parts of a sequence.
#include "approximate.h"

constexpr int kSumThreads = 128, kSumWarps = kSumThreads / 32;  // of a block
/// Warps that share the parts of a row: each reads up to 16 of them at once.
HONE_BOTH constexpr int warps_of_row(long parts) { return parts > 32 ? 4 : parts > 16 ? 2 : 1; }

/// Multiprocessors that parts by the shape fill: about as many as large cards have, since a second pass is not told how many there are.
constexpr long kMultiprocessors = 128;
/// Keys of a part where a configuration leaves that to the shape: what each of so many blocks at once gets of all, and up to two steps
/// more. `tiles`: blocks that have all keys, if none has a part.
HONE_BOTH constexpr long keys_by_shape(long longest, long tiles, long blocks, long step) {
  return round_up(longest * tiles / blocks + step, step);
}

/// Two columns of a row, of some parts: weights are relative to the part with the largest logarithm, `most`.
struct PartSum {
  float most = -INFINITY, total = 0;
  Vector<float, 2> sum = {};

  template <int n>
  HONE_DEVICE void add(const PartSum (&others)[n]) {
    float top = most;
#pragma unroll
    for (int i = 0; i < n; ++i) top = fmaxf(top, others[i].most);
    const float offset = top == -INFINITY ? 0.0f : top, rescale = power_of_two((most - offset) * 1.44269504f);
    most = top;
    total *= rescale;
    sum = {sum[0] * rescale, sum[1] * rescale};
#pragma unroll
    for (int i = 0; i < n; ++i) {
      const float weight = power_of_two((others[i].most - offset) * 1.44269504f);
      total += weight * others[i].total;
      sum = {sum[0] + weight * others[i].sum[0], sum[1] + weight * others[i].sum[1]};
    }
  }
};

/// Two columns of a row, from the results of its parts: [most, rows, columns] and the logarithms of their sums of exponentials, [most,
/// rows]. Whole blocks call it, of which some rows may not exist; warps_of_row(most) warps beside each other have the same row and column.
/// `parts` is how many the row's sequence has. The first ones are read before that is known, whether they exist or not. `reads`: for how
/// many the code is; for more, with as many warps, it takes another round.
template <class T, int reads, int columns>
HONE_DEVICE void add_parts(int most, int parts, long rows, long row, int column, const float* part_out, const float* part_lse, T* out,
                           float* lse) {
  constexpr int kWarps = warps_of_row(reads), kEach = ceil_div(reads, kWarps), kAtOnce = ceil_div(kEach, ceil_div(kEach, 16));
  const int warp = (int)threadIdx.x / 32;
  const long read = min_of(row, rows - 1);
  int first = warp % kWarps;
  PartSum sum;
  do {
    PartSum part[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const long from = min_of(first + i * kWarps, most - 1) * rows + read;
      part[i] = {part_lse[from], 1.0f, load<2>(part_out + from * columns + column)};
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (first + i * kWarps >= parts) part[i] = {};
    }
    sum.add(part);
    first += kAtOnce * kWarps;
  } while (first < parts);
  if constexpr (kWarps > 1) {
    __shared__ float left[kSumWarps][4][32];
    const int lane = (int)threadIdx.x % 32;
    left[warp][0][lane] = sum.most, left[warp][1][lane] = sum.total, left[warp][2][lane] = sum.sum[0], left[warp][3][lane] = sum.sum[1];
    __syncthreads();
    if (warp % kWarps != 0) return;
    PartSum others[kWarps - 1];
#pragma unroll
    for (int i = 1; i < kWarps; ++i) {
      const auto& from = left[warp + i];
      others[i - 1] = {from[0][lane], from[1][lane], {from[2][lane], from[3][lane]}};
    }
    sum.add(others);
  }
  if (row >= rows) return;
  const float inverse = sum.total > 0.0f ? 1.0f / sum.total : 0.0f;  // 0 where a row sees no key, as in one pass
  store(out + row * columns + column, Vector<T, 2>{T(sum.sum[0] * inverse), T(sum.sum[1] * inverse)});
  if (column == 0) lse[row] = sum.most + logf(sum.total);
}

/// The same by the code for `split` parts, or where that is 0, for about as many as there are: twelve of a warp at once, for registers.
template <class T, int split, int columns>
HONE_DEVICE void add_split(int most, int parts, long rows, long row, int column, const float* part_out, const float* part_lse, T* out,
                           float* lse) {
  if constexpr (split > 0) {
    add_parts<T, split, columns>(split, parts, rows, row, column, part_out, part_lse, out, lse);
  } else if (most <= 4) {
    add_parts<T, 4, columns>(most, parts, rows, row, column, part_out, part_lse, out, lse);
  } else if (most <= 16) {
    add_parts<T, 12, columns>(most, parts, rows, row, column, part_out, part_lse, out, lse);
  } else if (most <= 32) {
    add_parts<T, 24, columns>(most, parts, rows, row, column, part_out, part_lse, out, lse);
  } else {
    add_parts<T, 48, columns>(most, parts, rows, row, column, part_out, part_lse, out, lse);
  }
}
