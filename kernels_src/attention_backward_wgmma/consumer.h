#pragma once
// A consumer: a warpgroup that has 64 keys, each of its warps 16 of them.
#include "../attention_wgmma/products.h"
#include "instructions.h"
#include "shared.h"

#if defined(HONE_HOPPER)
template <class T, Config c>
struct Consumer {
  static constexpr int kKeys = keys_of(c), kHead = kPanels * 64, kValues = kValuePanels * 64;
  static constexpr int kGroupOfLines = 8 * kLine, kStep = 16 * kLine / 16;  // of 16 lines, in a descriptor
  Problem p;
  SharedLayout<c> layout;
  float* dq_sums;
  int group, thread;                                             // the warpgroup, and the thread of it
  float factor;                                                  // of scores, for powers of two
  float sums[kHead / 2] = {}, sums_of_values[kValues / 2] = {};  // of dk and dv
  float scores[c.bm / 2], products[c.bm / 2];                    // k q^T, then weights; v dout^T, then changes
  float sums_of_queries[own_blocks(c)][slice_of(c) / 2];         // of dq
  hopper::u32 weights[c.bm / 4], changes[c.bm / 4];              // rounded

  /// The row, among the block's keys, of this thread's first row.
  HONE_DEVICE int row() const { return group * 64 + thread / 32 * 16 + thread % 32 / 4; }

  /// Starts to[64 x bm] = keys rows^T, over the elements of a line.
  template <int elements>
  HONE_DEVICE void start_product(float (&to)[c.bm / 2], hopper::u32 keys, hopper::u32 rows) {
    const hopper::u64 a = hopper::matrix_descriptor(keys + group * 64 * kLine, 16, kGroupOfLines);
    const hopper::u64 b = hopper::matrix_descriptor(rows, 16, kGroupOfLines);
    hopper::wgmma_fence();
#pragma unroll
    for (int e = 0; e < elements / 16; ++e) {
      scores_product<T, c.bm>(to, a + e / 4 * (kKeys * kLine / 16) + e % 4 * 2, b + e / 4 * (c.bm * kLine / 16) + e % 4 * 2, e > 0);
    }
    hopper::wgmma_commit_group();
  }
  HONE_DEVICE void start_scores(int stage) { start_product<kHead>(scores, layout.k(), layout.q(stage)); }
  HONE_DEVICE void start_products(int stage) { start_product<kValues>(products, layout.v(), layout.dout(stage)); }

  /// Starts adding left rows.
  template <int n>
  HONE_DEVICE void start_sums(float (&to)[n], const hopper::u32 (&left)[c.bm / 4], hopper::u32 rows) {
    const hopper::u64 b = hopper::matrix_descriptor(rows, c.bm * kLine, kGroupOfLines);
    hopper::wgmma_fence();
#pragma unroll
    for (int step = 0; step < c.bm / 16; ++step) weighted_sum<T, 2 * n>(to, left + step * 4, b + step * kStep, true);
    hopper::wgmma_commit_group();
  }

  /// Starts this warpgroup's part of changes^T k, for the queries of a step.
  HONE_DEVICE void start_sums_of_queries(int buffer) {
    constexpr int kSlices = kHead / slice_of(c);
    const hopper::u32 first = layout.changes(buffer) + (kSlices > 1 ? 0 : group * own_blocks(c)) * (kKeys * kLine);
    const int column = kSlices > 1 ? group * slice_of(c) : 0;
    const hopper::u32 columns = layout.k() + column / 64 * (kKeys * kLine) + column % 64 * 2;
    const hopper::u64 b = hopper::matrix_descriptor(columns, kKeys * kLine, kGroupOfLines);
    hopper::wgmma_fence();
#pragma unroll
    for (int block = 0; block < own_blocks(c); ++block) {
      const hopper::u64 a = hopper::matrix_descriptor(first + block * (kKeys * kLine), kKeys * kLine, kGroupOfLines);
#pragma unroll
      for (int step = 0; step < kKeys / 16; ++step) {
        transposed_product<T, slice_of(c)>(sums_of_queries[block], a + step * kStep, b + step * kStep, step > 0);
      }
    }
    hopper::wgmma_commit_group();
  }
  /// Adds them to the step's tile of dq_sums. What a thread has lies together there, not as rows.
  HONE_DEVICE void add_sums_of_queries(float* tile) const {
    float* const to = tile + (long)group * own_blocks(c) * (64 * slice_of(c)) + thread * 4;
#pragma unroll
    for (int block = 0; block < own_blocks(c); ++block) {
#pragma unroll
      for (int i = 0; i < slice_of(c) / 2; i += 4) {
        const auto& s = sums_of_queries[block];
        add_four(to + block * (64 * slice_of(c)) + i * 128, s[i], s[i + 1], s[i + 2], s[i + 3]);
      }
    }
  }

  /// From scores to weights: of the pairs of the tile of queries from `first` on that attention sees.
  HONE_DEVICE void weigh(const KeyWork& work, int first, int stage) {
    const hopper::u32 terms = layout.terms(stage) + thread % 4 * 8;
#pragma unroll
    for (int j = 0; j < c.bm / 8; ++j) {
      float lse[2];
      load_pair(lse, terms + j * 32);
#pragma unroll
      for (int i = 0; i < 4; ++i) scores[4 * j + i] = power_of_two(scores[4 * j + i] * factor - lse[i % 2]);
    }
    if (!sees_all<c>(p, work.sequence, work.first + group * 64, 64, first))
      keep_readers(scores, p, work.sequence, work.first + row(), first);
    TwoRows::round<T>(weights, scores);
  }

  /// From products and weights to changes; passes them to the other warpgroups.
  HONE_DEVICE void change(int stage, int buffer) {
    const hopper::u32 deltas = layout.terms(stage) + c.bm * 4 + thread % 4 * 8;
#pragma unroll
    for (int j = 0; j < c.bm / 8; ++j) {
      float delta[2];
      load_pair(delta, deltas + j * 32);
#pragma unroll
      for (int i = 0; i < 4; ++i) products[4 * j + i] = scores[4 * j + i] * (products[4 * j + i] - delta[i % 2]);
    }
    TwoRows::round<T>(changes, products);
    const int lane = thread % 32, line = group * 64 + thread / 32 * 16 + lane / 8 % 2 * 8 + lane % 8;
#pragma unroll
    for (int j = 0; j < c.bm / 8; j += 2) {
      const int word = j + lane / 16;
      hopper::stmatrix(layout.changes(buffer) + (j / 8 * kKeys + line) * kLine + ((word % 8) ^ (line % 8)) * 16, changes[2 * j],
                       changes[2 * j + 1], changes[2 * j + 2], changes[2 * j + 3]);
    }
    hopper::fence_proxy_async();
    hopper::named_barrier_sync(1, 128 * c.consumers);
  }

  HONE_DEVICE void run(const KeyWork& work) {
    const int count = (int)p.group * work.tiles;
    int stage = 0, tile = 0;
    hopper::u32 parity = 0;
    float* to = dq_sums + first_place(p, c, work, work.head * p.group) * (c.bm * kHead);
    if (count == 0) return;
    hopper::mbarrier_wait(layout.kv_full(), 0);
    fence_registers(sums);  // zero by now: where sums differ in size, ptxas set them late, and serialized all products
    fence_registers(sums_of_values);
#pragma unroll 1
    for (int n = 0; n < count; ++n) {
      const int next = stage + 1 == c.stages ? 0 : stage + 1;
      const hopper::u32 next_parity = parity ^ (next == 0);
      hopper::mbarrier_wait(layout.q_full(stage), parity);
      start_scores(stage);
      hopper::mbarrier_wait(layout.dout_full(stage), parity);
      start_products(stage);
      hopper::wgmma_wait_group<1>();
      fence_registers(scores);
      weigh(work, (work.begin + tile) * c.bm, stage);
      start_sums(sums_of_values, weights, layout.dout(stage));
      hopper::wgmma_wait_group<1>();
      fence_registers(products);
      change(stage, n % 2);
      start_sums_of_queries(n % 2);
      start_sums(sums, changes, layout.q(stage));
      hopper::wgmma_wait_group<1>();
#pragma unroll
      for (int block = 0; block < own_blocks(c); ++block) fence_registers(sums_of_queries[block]);
      add_sums_of_queries(to);  // beside the product: behind it, an H200 took an eighth longer
      hopper::wgmma_wait_group<0>();
      fence_registers(sums);
      fence_registers(sums_of_values);
      fence_registers(weights);
      fence_registers(changes);
      if (thread % 32 == 0) hopper::mbarrier_arrive(layout.empty(stage));
      stage = next;
      parity = next_parity;
      to += c.bm * kHead;
      if (++tile == work.tiles) {
        tile = 0;
        to += (tile_places(p, c.bm) - work.tiles) * (c.bm * kHead);
      }
    }
  }
};
#endif
