#pragma once
// What a warp computes: rows of the block's tile, 16 or 32. Rows are queries, and steps blocks of keys (dq); or rows are keys, and steps
// tiles of queries (dk and dv).
#include "../attention_backward_work.h"
#include "../attention_mma/products.h"
#include "../attention_work.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
/// `step`: columns of one.
template <class T, Config c, int step>
struct Warp {
  static constexpr int kHead = Problem::head, kValues = (int)head_of_values(), kDown = c.wm / 16, kThreads = c.warps * 32;
  static constexpr int kTile = step * (int)line_pitch() * 2, kRows = rows_of(c) * (int)line_pitch() * 2;  // bytes
  unsigned shared;
  float factor;  // of scores, for powers of two
  float sums[kDown][kHead / 2] = {};
  float scores[kDown][step / 2], products[kDown][step / 2];  // then weights; then changes
  unsigned rounded[kDown][step / 4];

  HONE_DEVICE unsigned first_at(int n) const { return shared + 2 * kRows + n % c.stages * 2 * kTile; }
  HONE_DEVICE unsigned second_at(int n) const { return first_at(n) + kTile; }
  /// The first row of product i, in the tile.
  static HONE_DEVICE int row_of(int i) { return (int)threadIdx.x / 32 * c.wm + i * 16; }

  /// Starts loading the block's rows: of q and dout, or of k and v.
  HONE_DEVICE void start_rows(const Rows<T>& first, const Rows<T, kValues>& second) const {
    first.template start<rows_of(c), kThreads>(shared, 0);
    second.template start<rows_of(c), kThreads>(shared + kRows, 0);
  }
  /// The same of step `n`, from `at` on.
  HONE_DEVICE void start_step(int n, const Rows<T>& first, const Rows<T, kValues>& second, int at) const {
    first.template start<step, kThreads>(first_at(n), at);
    second.template start<step, kThreads>(second_at(n), at);
  }

  /// Scores and products of step `n`.
  HONE_DEVICE void multiply(int n) {
    scores_of_tile<T, kDown, step>(scores, first_at(n), [&](unsigned(&to)[4], int i, int e) { read_rows(to, shared, row_of(i), e); });
    scores_of_tile<T, kDown, step, kValues>(products, second_at(n),
                                            [&](unsigned(&to)[4], int i, int e) { read_rows(to, shared + kRows, row_of(i), e); });
  }
  /// Adds changes of step `n` times its first rows.
  HONE_DEVICE void add_changes(int n) {
#pragma unroll
    for (int i = 0; i < kDown; ++i) TwoRows::round<T>(rounded[i], products[i]);
    add_tile<T, kDown, step>(sums, rounded, first_at(n));
  }

  /// Runs `count` steps: `start(n)` starts loading one, `compute(n)` uses it.
  template <class Start, class Compute>
  static HONE_DEVICE void run(int count, Start start, Compute compute) {
#pragma unroll
    for (int n = 0; n < c.stages; ++n) {
      if (n < count) start(n);
      cp_async_commit_group();
    }
#pragma unroll 1
    for (int n = 0; n < count; ++n) {
      cp_async_wait_group<c.stages - 1>();
      __syncthreads();  // all threads' copies have arrived
      compute(n);
      __syncthreads();  // and all have read them
      if (n + c.stages < count) start(n + c.stages);
      cp_async_commit_group();
    }
  }
};

/// The pass over queries.
template <class T, Config c>
struct QueryWarp : Warp<T, c, c.bn> {
  using Base = Warp<T, c, c.bn>;
  using Base::products, Base::scores, Base::sums, Base::row_of;
  float offset[Base::kDown][2], delta[Base::kDown][2];  // lse to the base 2

  /// What is known of a query, of which four lanes have a share each.
  static HONE_DEVICE float delta_of(const T* out, const T* dout) {
    float sum = 0;
#pragma unroll
    for (int e = 0; e < Base::kValues; e += 32) {
      const auto x = load_packet<T, 8>(out + e + threadIdx.x % 4 * 8), y = load_packet<T, 8>(dout + e + threadIdx.x % 4 * 8);
#pragma unroll
      for (int i = 0; i < 8; ++i) sum += (float)x[i] * (float)y[i];
    }
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    return sum + __shfl_xor_sync(0xffffffffu, sum, 2);
  }
  HONE_DEVICE void read_terms(Problem p, const Work& work, const T* out, const T* dout, const float* from, float* deltas) {
    const Sequence& s = work.sequence;
#pragma unroll
    for (int i = 0; i < Base::kDown; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const long mine = work.first + row_of(i) + r * 8 + lane_of_warp() / 4, query = min_of(mine, s.queries - 1);
        const long place = query_place(p, s, query, work.head, head_of_values()), row = lse_place(p, s, query, work.head);
        delta[i][r] = delta_of(out + place, dout + place);
        offset[i][r] = from[row] * kLog2OfE;
        if (mine < s.queries && threadIdx.x % 4 == 0) deltas[row] = delta[i][r];
      }
    }
  }

  HONE_DEVICE void step(Problem p, const Work& work, int block, int n) {
    this->multiply(n);
#pragma unroll
    for (int i = 0; i < Base::kDown; ++i) {
#pragma unroll
      for (int e = 0; e < c.bn / 2; ++e) scores[i][e] = power_of_two(scores[i][e] * this->factor - offset[i][e / 2 % 2]);
      if (!work.is_clear(block)) keep_seen(p, work, scores[i], work.first + row_of(i) + lane_of_warp() / 4, block * c.bn);
#pragma unroll
      for (int e = 0; e < c.bn / 2; ++e) products[i][e] = scores[i][e] * (products[i][e] - delta[i][e / 2 % 2]);
    }
    this->add_changes(n);
  }
  /// Weights of keys that queries `query` and 8 further see are kept.
  static HONE_DEVICE void keep_seen(Problem p, const Work& work, float (&weights)[c.bn / 2], long query, int first) {
#pragma unroll
    for (int r = 0; r < 2; ++r, query += 8) {
      const long position = position_of(work.sequence, query);
      keep_between(weights, r, first_key(p, position), end_key(p, work.sequence, position), first);
    }
  }
};

/// The pass over keys.
template <class T, Config c>
struct KeyWarp : Warp<T, c, c.bm> {
  using Base = Warp<T, c, c.bm>;
  using Base::products, Base::rounded, Base::scores, Base::row_of;
  float sums_of_values[Base::kDown][Base::kValues / 2] = {};

  /// A tile of queries from `first` on; `lse` and `deltas` are those of the head's queries.
  HONE_DEVICE void step(Problem p, const KeyWork& work, int first, int n, const float* lse, const float* deltas) {
    const Sequence& s = work.sequence;
    float offset[c.bm / 4], delta[c.bm / 4];
#pragma unroll
    for (int j = 0; j < c.bm / 8; ++j) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const long query = min_of((long)first + j * 8 + threadIdx.x % 4 * 2 + e, s.queries - 1);
        offset[2 * j + e] = lse[query] * kLog2OfE;
        delta[2 * j + e] = deltas[query];
      }
    }
    this->multiply(n);
#pragma unroll
    for (int i = 0; i < Base::kDown; ++i) {
#pragma unroll
      for (int e = 0; e < c.bm / 2; ++e) scores[i][e] = power_of_two(scores[i][e] * this->factor - offset[e / 4 * 2 + e % 2]);
      const long key = work.first + row_of(i);
      const bool is_clear = first + c.bm <= s.queries && sees_all<c>(p, s, key, 16, first);
      if (!is_clear) keep_readers(scores[i], p, s, key + lane_of_warp() / 4, first);
      TwoRows::round<T>(rounded[i], scores[i]);
    }
    add_tile<T, Base::kDown, c.bm>(sums_of_values, rounded, this->second_at(n));
#pragma unroll
    for (int i = 0; i < Base::kDown; ++i) {
#pragma unroll
      for (int e = 0; e < c.bm / 2; ++e) products[i][e] = scores[i][e] * (products[i][e] - delta[e / 4 * 2 + e % 2]);
    }
    this->add_changes(n);
  }
};
#endif
