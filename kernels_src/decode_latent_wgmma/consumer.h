#pragma once
// One of the two warpgroups that compute.
#include "../attention_rows.h"
#include "../attention_wgmma/products.h"
#include "shared.h"

#if defined(HONE_HOPPER)
template <class T, Config c>
struct Consumer {
  static constexpr int kColumns = (int)Problem::latent / 2, kHalf = kValuePanels / 2;
  Problem p;
  SharedLayout<c> layout;
  int group, thread;  // the warpgroup, and the thread of it
  float scale, sign;  // of scores, for powers of two: above 0; 1 or -1
  int first_row, length;
  float sums[kColumns / 2] = {}, scores[c.bn / 2];
  hopper::u32 own[c.bn / 4], passed[c.bn / 4];  // weights, rounded: of this warpgroup's step and of the other's
  TwoRows rows;

  HONE_DEVICE hopper::u32 passed_at() const { return layout.passed() + thread * 16; }
  HONE_DEVICE hopper::u32 most_at() const { return layout.passed() + 128 * c.bn + thread * 8; }
  /// The row, in the block, of this thread's first row.
  HONE_DEVICE int row() const { return thread / 32 * 16 + thread % 32 / 4; }

  /// Starts scores = q cache^T of step `n`, a panel at a time as they arrive.
  HONE_DEVICE void start_scores(int n) {
    const int stage = n % c.stages;
    const hopper::u64 a = hopper::matrix_descriptor(layout.q(0), 16, 8 * kPanelLine);
    const hopper::u64 b = hopper::matrix_descriptor(layout.cache(stage, 0), 16, 8 * kPanelLine);
    hopper::wgmma_fence();
#pragma unroll
    for (int i = 0; i < kPanels; ++i) {
      hopper::mbarrier_wait(layout.full(stage, i), n / c.stages % 2);
#pragma unroll
      for (int e = 0; e < kPanel / 16; ++e) {
        scores_product<T, c.bn>(scores, a + i * (kRows * kPanelLine / 16) + e * 2, b + i * ((int)panel_bytes(c) / 16) + e * 2, i + e > 0);
      }
    }
    hopper::wgmma_commit_group();
  }
  /// Starts adding the product of a step's weights and this warpgroup's columns.
  HONE_DEVICE void start_sums(int n, const hopper::u32 (&weights)[c.bn / 4]) {
    const hopper::u64 values = hopper::matrix_descriptor(layout.cache(n % c.stages, group * kHalf), panel_bytes(c), 8 * kPanelLine);
    hopper::wgmma_fence();
#pragma unroll
    for (int step = 0; step < c.bn / 16; ++step) {
      weighted_sum<T, kColumns>(sums, weights + step * 4, values + step * (16 * kPanelLine / 16), true);
    }
    hopper::wgmma_commit_group();
  }
  /// Waits for these products, and releases this warpgroup's half of the stage to every block that loads into it.
  HONE_DEVICE void finish_sums(int n, hopper::u32 (&weights)[c.bn / 4]) {
    hopper::wgmma_wait_group<0>();
    fence_registers(sums);
    fence_registers(weights);
    const hopper::u32 barrier = layout.empty(n % c.stages, group);
    if constexpr (c.cluster == 1) {
      if (thread == 0) hopper::mbarrier_arrive(barrier);
    } else {
      if (thread < c.cluster) hopper::mbarrier_arrive_remote(barrier, thread);
    }
  }

  /// Passes the weights of step `n` to the other warpgroup. A thread has read what it overwrites: the weights of the step before.
  HONE_DEVICE void pass(int n) const {
#pragma unroll
    for (int i = 0; i < c.bn / 16; ++i)
      store_words(passed_at() + i * (128 * 16), own[4 * i], own[4 * i + 1], own[4 * i + 2], own[4 * i + 3]);
    hopper::store_pair(most_at(), rows.most[0], rows.most[1]);
    __syncwarp();
    if (thread % 32 == 0) hopper::mbarrier_arrive(layout.given(group, thread / 32));
  }
  /// Takes the weights of the other's step `n`; sums so far are to be multiplied by `factor`.
  HONE_DEVICE void take_passed(int n, float (&factor)[2]) {
    hopper::mbarrier_wait(layout.given(1 - group, thread / 32), n / 2 % 2);
#pragma unroll
    for (int i = 0; i < c.bn / 16; ++i) {
      hopper::load_words(passed[4 * i], passed[4 * i + 1], passed[4 * i + 2], passed[4 * i + 3], passed_at() + i * (128 * 16));
    }
    float most[2];
    load_pair(most, most_at());
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float offset = most[r] == -INFINITY ? 0.0f : most[r] * scale;
      factor[r] = most[r] == rows.most[r] ? 1.0f : power_of_two(rows.most[r] * scale - offset);
      rows.total[r] *= factor[r];
      rows.most[r] = most[r];
    }
  }

  /// Weighs this warpgroup's step, whose scores are there.
  HONE_DEVICE void weigh(int key, int end, int n, float (&factor)[2]) {
    if (sign < 0.0f || key + c.bn > length - p.queries + 1) {
      const long ends[2] = {end_of_row(p, first_row + row(), length), end_of_row(p, first_row + row() + 8, length)};
      TwoRows::hide(scores, sign, {0L, 0L}, ends, key);
    }
    if (key + c.bn > end) clear_lines(n % c.stages, end - key);
    rows.template weigh<c.lazy, 0>(scores, scale, factor);
    TwoRows::round<T>(own, scores);
  }
  /// Values of keys from `first` on are no numbers, perhaps, and are multiplied by 0: writes 0.
  HONE_DEVICE void clear_lines(int stage, int first) const {
    const int words = (c.bn - first) * 8;
#pragma unroll 1
    for (int i = thread; i < words * kValuePanels; i += 128) {
      store_words(layout.cache(stage, i / words) + first * kPanelLine + i % words * 16, 0, 0, 0, 0);
    }
    hopper::fence_proxy_async();
    hopper::named_barrier_sync(1 + group, 128);
  }

  HONE_DEVICE void run(int begin, int end) {
    const int count = ceil_div(end - begin, c.bn);
    hopper::mbarrier_wait(layout.q_full(), 0);
    int n = 0;
    if (group == 1) add_passed(n++);
#pragma unroll 1
    for (; n < count; n += 2) {
      add_own(n, begin + n * c.bn, end);
      if (n + 1 < count) add_passed(n + 1);
    }
  }
  /// Weighs step `n`, passes the weights on, and adds the step. Scores are started when the step before was added, and not while its
  /// weights come: a stage is loaded again as soon as both warpgroups have added it, and waiting for one step to arrive would hold up the
  /// next.
  HONE_DEVICE void add_own(int n, int key, int end) {
    float factor[2];
    start_scores(n);
    hopper::wgmma_wait_group<0>();
    fence_registers(scores);
    weigh(key, end, n, factor);
    pass(n);
    TwoRows::rescale<c.lazy>(sums, factor);
    start_sums(n, own);
    finish_sums(n, own);
  }
  HONE_DEVICE void add_passed(int n) {
    float factor[2];
    take_passed(n, factor);
    TwoRows::rescale<c.lazy>(sums, factor);
    start_sums(n, passed);
    finish_sums(n, passed);
  }

  /// Divides by the totals of both warpgroups and writes.
  template <class Out>
  HONE_DEVICE void write(long sequence, Out* out, float* lse) {
    rows.add_lanes();
    hopper::named_barrier_sync(3, 256);  // both have taken all weights
    hopper::store_pair(layout.passed() + (group * 128 + thread) * 8, rows.total[0], rows.total[1]);
    hopper::named_barrier_sync(3, 256);
    float others[2];
    load_pair(others, layout.passed() + ((1 - group) * 128 + thread) * 8);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      rows.total[r] += others[r];
      const long inside = first_row + row() + r * 8, at = sequence * rows_of_sequence(p) + inside;
      const bool exists = inside < rows_of_sequence(p);
      Out* const to = out + at * Problem::latent + group * kColumns;
      if constexpr (sizeof(Out) == 2) {
        rows.write(sums, r, to, exists);
      } else if (exists) {
        const float inverse = rows.total[r] > 0.0f ? 1.0f / rows.total[r] : 0.0f;  // a part's keys may be behind those that a row sees
#pragma unroll
        for (int j = 0; j < kColumns / 8; ++j) {
          store(to + j * 8 + thread % 4 * 2, Vector<float, 2>{sums[4 * j + 2 * r] * inverse, sums[4 * j + 2 * r + 1] * inverse});
        }
      }
      if (exists && group == 0 && thread % 4 == 0) lse[at] = rows.lse(r, scale);
    }
  }
};
#endif
