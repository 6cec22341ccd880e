#pragma once
// What a block computes: rows of q that share a head of k and v, and a part of a sequence's keys.
#include "../attention_mma/products.h"
#include "../attention_rows.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
template <class T, Config c>
struct Warp {
  static constexpr int kHead = Problem::head, kDown = c.wm / 16, kSteps = kHead / 16, kTile = c.bn * kHead * 2, kWords = kHead / 8;
  Problem p;
  unsigned char* memory;
  float scale, sign;  // of scores, for powers of two: above 0; 1 or -1
  long sequence, head, first_row;
  int length;
  TwoRows rows[kDown];
  float sums[kDown][kHead / 2] = {};
  unsigned held[c.held ? kDown * kSteps : 1][4];

  static HONE_DEVICE int warp() { return (int)threadIdx.x / 32; }
  HONE_DEVICE unsigned shared() const { return (unsigned)__cvta_generic_to_shared(memory); }
  HONE_DEVICE unsigned stage(int index) const { return shared() + q_bytes(c) + (warp() * c.stages + index) * step_bytes(c); }
  /// The row of q, out and lse of a row of the block; rows of one token are neighbours.
  HONE_DEVICE long row_at(long row) const {
    return (sequence * p.queries + row / p.group) * query_heads(p) + head * p.group + row % p.group;
  }

  /// Starts copying the block's rows of q; rows that do not exist are zero.
  HONE_DEVICE void start_rows(const T* q) const {
    for (int i = (int)threadIdx.x; i < c.wm * kWords; i += threads_of(c)) {
      const long row = first_row + i / kWords;
      const bool inside = row < shared_rows(p);
      copy_async<8, false>(shared() + place_in_tile(i / kWords, i % kWords), inside ? q + row_at(row) * kHead + i % kWords * 8 : q, inside);
    }
    cp_async_commit_group();
  }

  /// Starts copying the step of keys from `key` on, which lie in one page; those from `end` on are zero.
  HONE_DEVICE void start(const T* k, const T* v, unsigned to, long page, int key, int end) const {
    constexpr int kLines = 32 / kWords;  // of one access of the warp
    const int lane = lane_of_warp(), word = lane % kWords, line = lane / kWords;
    const long stride = p.heads * kHead;
    long from = (page * p.page + key % p.page + line) * stride + head * kHead + word * 8;
#pragma unroll
    for (int i = 0; i < c.bn; i += kLines, from += kLines * stride) {
      const bool inside = key + i + line < end;
      copy_async<8, c.once>(to + place_in_tile(i + line, word), k + from, inside);
      copy_async<8, c.once>(to + kTile + place_in_tile(i + line, word), v + from, inside);
    }
  }

  /// The steps of a part, from `first` on every c.warps-th, to before `end`. `table` has the sequence's pages, `page` that of the first
  /// step; the page of a step is read while the step before is started.
  HONE_DEVICE void run(const T* k, const T* v, const i32* table, long page, int first, int end) {
    constexpr int kStride = c.warps * c.bn;
    const int count = first < end ? (end - first + kStride - 1) / kStride : 0;
    const auto start_step = [&](int n) {
      if (n < count) {
        const int key = first + n * kStride;
        const long here = page;
        if (n + 1 < count) page = table[(key + kStride) / (int)p.page];
        start(k, v, stage(n % c.stages), here, key, end);
      }
      cp_async_commit_group();
    };
#pragma unroll 1
    for (int n = 0; n < c.stages - 1; ++n) start_step(n);
    cp_async_wait_group<c.stages - 1>();
    __syncthreads();  // all threads' copies of q have arrived
    if constexpr (c.held) {
#pragma unroll
      for (int i = 0; i < kDown * kSteps; ++i) read_rows(held[i], shared(), i / kSteps * 16, i % kSteps);
    }
    for (int n = 0; n < count; ++n) {
      cp_async_wait_group<c.stages - 2>();
      __syncwarp();  // all lanes' copies of this step have arrived, and all have read the step before
      start_step(n + c.stages - 1);
      add(stage(n % c.stages), first + n * kStride);
    }
    cp_async_wait_group<0>();
  }

  /// Adds a step of keys and values.
  HONE_DEVICE void add(unsigned tile, int key) {
    float scores[kDown][c.bn / 2], factor[kDown][2];
    unsigned weights[kDown][c.bn / 4];
    scores_of_tile<T, kDown, c.bn>(scores, tile, [&](unsigned(&to)[4], int i, int step) {
      if constexpr (c.held) {
#pragma unroll
        for (int e = 0; e < 4; ++e) to[e] = held[i * kSteps + step][e];
      } else {
        read_rows(to, shared(), i * 16, step);
      }
    });
    const bool clear = sign > 0.0f && key + c.bn <= length - p.queries + 1;
#pragma unroll
    for (int i = 0; i < kDown; ++i) {
      if (!clear) {
        const long row = first_row + i * 16 + lane_of_warp() / 4;
        TwoRows::hide(scores[i], sign, {0L, 0L}, {end_of(row), end_of(row + 8)}, key);
      }
      rows[i].template weigh<0, 0>(scores[i], scale, factor[i]);
      TwoRows::rescale<0>(sums[i], factor[i]);
      TwoRows::round<T>(weights[i], scores[i]);
    }
    add_tile<T, kDown, c.bn>(sums, weights, tile + kTile);
  }
  /// The end of the keys that a row sees.
  HONE_DEVICE long end_of(long row) const { return length - p.queries + row / p.group + 1; }

  /// Where a warp leaves a row of its sums for all: behind them the largest score and the total.
  HONE_DEVICE float* left_by(int from, int row) const {
    return reinterpret_cast<float*>(memory + q_bytes(c)) + (from * c.wm + row) * pitch_of();
  }

  /// Leaves the warp's sums to all.
  HONE_DEVICE void join() {
    __syncthreads();  // all have read their steps
    const int lane = lane_of_warp();
#pragma unroll
    for (int i = 0; i < kDown; ++i) {
      rows[i].add_lanes();
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float* const to = left_by(warp(), i * 16 + lane / 4 + r * 8);
#pragma unroll
        for (int j = 0; j < kHead / 8; ++j) {
          store(to + j * 8 + lane % 4 * 2, Vector<float, 2>{sums[i][4 * j + 2 * r], sums[i][4 * j + 2 * r + 1]});
        }
        if (lane % 4 == 0) store(to + kHead, Vector<float, 2>{rows[i].most[r], rows[i].total[r]});
      }
    }
    __syncthreads();
  }

  /// Writes the mean over all warps; a thread has pairs of elements of a row.
  template <class Out>
  HONE_DEVICE void write(Out* out, float* lse) const {
    for (int i = (int)threadIdx.x; i < c.wm * (kHead / 2); i += threads_of(c)) {
      const int row = i / (kHead / 2), pair = i % (kHead / 2) * 2;
      if (first_row + row >= shared_rows(p)) break;
      float most = -INFINITY, total = 0, x = 0, y = 0;
#pragma unroll
      for (int w = 0; w < c.warps; ++w) most = fmaxf(most, left_by(w, row)[kHead]);
#pragma unroll
      for (int w = 0; w < c.warps; ++w) {
        const float* const from = left_by(w, row);
        const float weight = from[kHead] == -INFINITY ? 0.0f : power_of_two((from[kHead] - most) * scale);
        total += weight * from[kHead + 1];
        x += weight * from[pair];
        y += weight * from[pair + 1];
      }
      const long to = row_at(first_row + row);
      const float inverse = total > 0.0f ? 1.0f / total : 0.0f;  // of several queries the first ones may see no key of the last part
      store(out + to * kHead + pair, Vector<Out, 2>{Out(x * inverse), Out(y * inverse)});
      if (pair == 0) lse[to] = (most * scale + __log2f(total)) * 0.69314718f;
    }
  }
};
#endif
