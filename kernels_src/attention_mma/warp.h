#pragma once
// What a warp computes: its rows of the tile, 16 or 32.
#include "../attention_work.h"
#include "products.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
template <class T, Config c>
struct Warp {
  static constexpr int kHead = Problem::head, kValues = (int)head_of_values(), kDown = c.wm / 16, kThreads = c.warps * 32,
                       kTile = c.bn * (int)line_pitch() * 2, kSteps = kHead / 16;
  Problem p;
  unsigned shared;
  float scale, sign;  // of scores, for powers of two: above 0; 1 or -1
  TwoRows rows[kDown];
  float sums[kDown][kValues / 2] = {};
  unsigned held[c.held ? kDown * kSteps : 1][4];

  HONE_DEVICE unsigned k_at(int block) const { return shared + rows_of(c) * (int)line_pitch() * 2 + block % c.stages * kTile; }
  HONE_DEVICE unsigned v_at(int block) const { return k_at(block) + c.stages * kTile; }
  /// The first row of product i, in the tile.
  static HONE_DEVICE int row_of(int i) { return (int)threadIdx.x / 32 * c.wm + i * 16; }

  /// Scores of the block of keys in a tile.
  HONE_DEVICE void multiply(float (&scores)[kDown][c.bn / 2], unsigned keys) const {
    scores_of_tile<T, kDown, c.bn>(scores, keys, [&](unsigned(&to)[4], int i, int step) {
      if constexpr (c.held) {
#pragma unroll
        for (int e = 0; e < 4; ++e) to[e] = held[i * kSteps + step][e];
      } else {
        read_rows(to, shared, row_of(i), step);
      }
    });
  }

  /// Blocks of keys run backwards: those on the diagonal come first. Copies of keys and values form groups of their own, in turn; at each
  /// wait, those that may be under way are of the later stages.
  HONE_DEVICE void run(const Rows<T>& of_q, const Rows<T>& of_k, const Rows<T, kValues>& of_v, const Work& work) {
    const int count = work.end - work.begin;
    const auto start_k = [&](int n) {
      if (n < count) of_k.template start<c.bn, kThreads>(k_at(n), (work.end - 1 - n) * c.bn);
      cp_async_commit_group();
    };
    const auto start_v = [&](int n) {
      if (n < count) of_v.template start<c.bn, kThreads>(v_at(n), (work.end - 1 - n) * c.bn);
      cp_async_commit_group();
    };
    of_q.template start<rows_of(c), kThreads>(shared, 0);
    start_k(0);
#pragma unroll
    for (int n = 1; n < c.stages; ++n) {
      start_v(n - 1);
      start_k(n);
    }
    if constexpr (c.held) {
      cp_async_wait_group<2 * c.stages - 2>();
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kDown * kSteps; ++i) read_rows(held[i], shared, row_of(i / kSteps), i % kSteps);
    }
    for (int n = 0; n < count; ++n) {
      const int block = work.end - 1 - n;
      float scores[kDown][c.bn / 2], factor[kDown][2];
      unsigned weights[kDown][c.bn / 4];
      cp_async_wait_group<2 * c.stages - 2>();
      __syncthreads();  // all threads' copies of the keys have arrived, and all have read the values before
      start_v(n + c.stages - 1);
      multiply(scores, k_at(n));
#pragma unroll
      for (int i = 0; i < kDown; ++i) {
        if (!work.is_clear(block)) {
          hide_unseen(scores[i], sign, p, work.sequence, work.first + row_of(i) + lane_of_warp() / 4, (long)block * c.bn);
        }
        rows[i].template weigh<c.lazy, c.by_fma>(scores[i], scale, factor[i]);
        TwoRows::rescale<c.lazy>(sums[i], factor[i]);
        TwoRows::round<T>(weights[i], scores[i]);
      }
      cp_async_wait_group<2 * c.stages - 2>();
      __syncthreads();  // the same for the values
      start_k(n + c.stages);
      add_tile<T, kDown, c.bn>(sums, weights, v_at(n));
    }
  }

  HONE_DEVICE void write(T* out, float* lse, const Work& work) {
#pragma unroll
    for (int i = 0; i < kDown; ++i) {
      write_rows(rows[i], sums[i], out, lse, scale, p, work, work.first + row_of(i) + lane_of_warp() / 4);
    }
  }
};
#endif
