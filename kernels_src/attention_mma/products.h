#pragma once
// The two products of attention, of a warp and a tile of keys or values in shared memory.
#include "tile.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
HONE_DEVICE int lane_of_warp() { return (int)threadIdx.x % 32; }
/// Where a lane reads matrices of a tile, with the words 2 * `pair` and the next. Lines of other matrices are multiples of 8 further: the
/// swizzle is the same, and the pair is one exclusive or.
HONE_DEVICE unsigned place_of_pair(int line, int word, int pair) { return place_in_tile(line, word) ^ pair * 32; }

/// 16 x 16 elements of rows of q in a tile.
HONE_DEVICE void read_rows(unsigned (&to)[4], unsigned tile, int row, int step) {
  const int lane = lane_of_warp();
  ldmatrix(to, tile + row * (int)(line_pitch() * 2) + place_of_pair(lane % 16, lane / 16, step));
}

/// The four sums of a product of 8 columns.
template <int n>
HONE_DEVICE float (&four(float (&sums)[n], int i))[4] {
  return *reinterpret_cast<float(*)[4]>(sums + 4 * i);
}

/// Leaves elements as they were read.
struct AsRead {
  HONE_DEVICE void operator()(unsigned (&)[4]) const {}
};

/// Scores of 16 * down rows and a tile of keys. `read_q(to, i, step)` gives 16 x 16 elements of q; `convert` makes a T of what a tile has.
template <class T, int down, int keys, int elements = Problem::head, class ReadQ, class Convert = AsRead>
HONE_DEVICE void scores_of_tile(float (&scores)[down][keys / 2], unsigned tile, ReadQ read_q, Convert convert = {}) {
  const int lane = lane_of_warp();
#pragma unroll
  for (int i = 0; i < down; ++i) {
#pragma unroll
    for (int e = 0; e < keys / 2; ++e) scores[i][e] = 0;
  }
#pragma unroll
  for (int step = 0; step < elements / 16; ++step) {
    unsigned a[down][4];
#pragma unroll
    for (int i = 0; i < down; ++i) read_q(a[i], i, step);
#pragma unroll
    for (int j = 0; j < keys / 16; ++j) {  // the last two matrices have keys from 8 on
      unsigned b[4];
      ldmatrix(b, tile + j * (int)(16 * line_pitch() * 2) + place_of_pair(lane / 16 * 8 + lane % 8, lane / 8 % 2, step));
      convert(b);
#pragma unroll
      for (int i = 0; i < down; ++i) {
        mma<T>(four(scores[i], 2 * j), a[i], b[0], b[1]);
        mma<T>(four(scores[i], 2 * j + 1), a[i], b[2], b[3]);
      }
    }
  }
}

/// Adds the product of weights and a tile of values.
template <class T, int down, int keys, int sums_of_row, class Convert = AsRead>
HONE_DEVICE void add_tile(float (&sums)[down][sums_of_row], const unsigned (&weights)[down][keys / 4], unsigned tile,
                          Convert convert = {}) {
  const int lane = lane_of_warp();
#pragma unroll
  for (int step = 0; step < keys / 16; ++step) {
#pragma unroll
    for (int j = 0; j < sums_of_row / 8; ++j) {  // the last two matrices have columns from 8 on
      unsigned b[4];
      ldmatrix_trans(b, tile + step * (int)(16 * line_pitch() * 2) + place_of_pair(lane % 16, lane / 16, j));
      convert(b);
#pragma unroll
      for (int i = 0; i < down; ++i) {
        const unsigned a[4] = {weights[i][4 * step], weights[i][4 * step + 1], weights[i][4 * step + 2], weights[i][4 * step + 3]};
        mma<T>(four(sums[i], 2 * j), a, b[0], b[1]);
        mma<T>(four(sums[i], 2 * j + 1), a, b[2], b[3]);
      }
    }
  }
}
#endif
