#pragma once
// What a block computes: rows of q that share a head of k and v, and a part of a sequence's keys.
#include "../attention_rows.h"
#include "narrow.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
/// Products of different types are those of f16, which has all digits of the others, if not all of their range.
template <class T, class KV>
struct ProductOf {
  using Factor = f16;
  static constexpr bool kSame = false;
};
template <class T>
struct ProductOf<T, T> {
  using Factor = T;
  static constexpr bool kSame = true;
};

template <class T, class KV, Config c>
struct Warp {
  using Factor = typename ProductOf<T, KV>::Factor;
  static constexpr bool kNarrow = sizeof(KV) == 1;
  static constexpr int kHead = Problem::head, kDown = c.wm / 16, kSteps = kHead / 16, kTile = c.bn * (int)(line_pitch() * sizeof(KV));
  static constexpr int kWords = kHead / 8, kWordsOfKey = kHead * (int)sizeof(KV) / 16;
  Problem p;
  unsigned char* memory;
  float scale, sign;  // of scores, for powers of two: above 0; 1 or -1
  float v_scale;
  long sequence, head;
  int first_row, length;
  TwoRows rows[kDown];
  float sums[kDown][kHead / 2] = {};
  unsigned held[c.held ? kDown * kSteps : 1][4];

  static HONE_DEVICE int warp() { return (int)threadIdx.x / 32; }
  HONE_DEVICE unsigned shared() const { return (unsigned)__cvta_generic_to_shared(memory); }
  HONE_DEVICE unsigned stage(int index) const { return shared() + q_bytes(c) + (warp() * c.stages + index) * 2 * kTile; }
  HONE_DEVICE const unsigned char* pointer(unsigned place) const { return memory + (place - shared()); }
  /// The row of q, out and lse of a row of the block; rows of one token are neighbours.
  HONE_DEVICE long row_at(int row) const {
    const int group = (int)p.group;  // a division of 64 bits takes a hundred cycles, before the first load and after the last
    return (sequence * p.queries + row / group) * query_heads(p) + head * group + row % group;
  }

  /// Starts copying the block's rows of q; rows that do not exist are zero.
  HONE_DEVICE void start_rows(const T* q) const {
    for (int i = (int)threadIdx.x; i < c.wm * kWords; i += threads_of(c)) {
      const int row = first_row + i / kWords;
      const bool inside = row < shared_rows(p);
      copy_word<false>(shared() + place_in_tile(i / kWords, i % kWords), inside ? q + row_at(row) * kHead + i % kWords * 8 : q, inside);
    }
    cp_async_commit_group();
  }

  /// Starts copying the step of keys from `key` on, which lie in one page; those from `end` on are zero.
  HONE_DEVICE void start(const KV* k, const KV* v, unsigned to, long page, int key, int end) const {
    if constexpr (c.once) to = __shfl_sync(~0u, to, lane_of_warp());  // not uniform any more: see copy_word
    if constexpr (32 % kWordsOfKey != 0) {
      start_words(k, v, to, page, key, end);
      return;
    }
    constexpr int kLines = max_of(32 / kWordsOfKey, 1);  // of one access of the warp
    const int lane = lane_of_warp(), word = lane % kWordsOfKey, line = lane / kWordsOfKey;
    const long stride = p.heads * kHead;
    long from = (page * p.page + key % (int)p.page + line) * stride + head * kHead + word * (16 / (int)sizeof(KV));
#pragma unroll
    for (int i = 0; i < c.bn; i += kLines, from += kLines * stride) {
      const bool inside = key + i + line < end;
      const unsigned place = kNarrow ? place_in_narrow_tile(i + line, word) : place_in_tile(i + line, word);
      copy_word<c.once>(to + place, k + from, inside);
      copy_word<c.once>(to + kTile + place, v + from, inside);
    }
  }

  /// The same where an access of the warp has no whole lines.
  HONE_DEVICE void start_words(const KV* k, const KV* v, unsigned to, long page, int key, int end) const {
    const long first = page * p.page + key % (int)p.page;
#pragma unroll
    for (int i = 0; i < c.bn * kWordsOfKey / 32; ++i) {
      const int at = i * 32 + lane_of_warp(), line = at / kWordsOfKey, word = at % kWordsOfKey;
      const long from = ((first + line) * p.heads + head) * kHead + word * 8;
      copy_word<c.once>(to + place_in_tile(line, word), k + from, key + line < end);
      copy_word<c.once>(to + kTile + place_in_tile(line, word), v + from, key + line < end);
    }
  }

  /// The steps of a part, from `first` on every c.warps-th, to before `end`. `table` has the sequence's pages, `page` that of the first
  /// step; the page of a step is read while the step before is started.
  HONE_DEVICE void run(const KV* k, const KV* v, const i32* table, long page, int first, int end) {
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
      for (int i = 0; i < kDown * kSteps; ++i) read_q(held[i], i / kSteps, i % kSteps);
    }
    for (int n = 0; n < count; ++n) {
      cp_async_wait_group<c.stages - 2>();
      __syncwarp();  // all lanes' copies of this step have arrived, and all have read the step before
      start_step(n + c.stages - 1);
      add(stage(n % c.stages), first + n * kStride);
    }
    cp_async_wait_group<0>();
  }

  /// 16 x 16 elements of q as factors.
  HONE_DEVICE void read_q(unsigned (&to)[4], int i, int step) const {
    if constexpr (kNarrow) {
      read_rows_narrow<T>(to, memory, i * 16, step);
    } else {
      read_rows(to, shared(), i * 16, step);
      to_factors<T>(to);
    }
  }
  template <class From>
  static HONE_DEVICE void to_factors(unsigned (&x)[4]) {
    if constexpr (!ProductOf<From, Factor>::kSame) {
#pragma unroll
      for (int e = 0; e < 4; ++e) x[e] = convert_pair<From, Factor>(x[e]);
    }
  }

  /// Adds a step of keys and values.
  HONE_DEVICE void add(unsigned tile, int key) {
    float scores[kDown][c.bn / 2], factor[kDown][2];
    unsigned weights[kDown][c.bn / 4];
    const auto take_q = [&](unsigned(&to)[4], int i, int step) {
      if constexpr (c.held) {
#pragma unroll
        for (int e = 0; e < 4; ++e) to[e] = held[i * kSteps + step][e];
      } else {
        read_q(to, i, step);
      }
    };
    if constexpr (kNarrow) {
      scores_of_narrow_tile<kDown, c.bn>(scores, pointer(tile), take_q);
    } else {
      scores_of_tile<Factor, kDown, c.bn>(scores, tile, take_q, to_factors<KV>);
    }
    const bool clear = sign > 0.0f && key + c.bn <= length - p.queries + 1;
#pragma unroll
    for (int i = 0; i < kDown; ++i) {
      if (!clear) {
        const int row = first_row + i * 16 + lane_of_warp() / 4;
        TwoRows::hide(scores[i], sign, {0L, 0L}, {end_of(row), end_of(row + 8)}, key);
      }
      rows[i].template weigh<-1, 0>(scores[i], scale, factor[i]);
      TwoRows::rescale<-1>(sums[i], factor[i]);
      TwoRows::round<Factor>(weights[i], scores[i]);
    }
    if constexpr (kNarrow) {
      add_narrow_tile<kDown, c.bn>(sums, weights, pointer(tile + kTile));
    } else {
      add_tile<Factor, kDown, c.bn>(sums, weights, tile + kTile, to_factors<KV>);
    }
  }
  /// The end of the keys that a row sees.
  HONE_DEVICE long end_of(int row) const { return length - p.queries + row / (int)p.group + 1; }

  /// Where a warp leaves a row of its sums for all: behind them the largest score and the total.
  HONE_DEVICE float* left_by(int from, int row) const {
    return reinterpret_cast<float*>(memory + q_bytes(c)) + (from * c.wm + row) * pitch_of();
  }

  /// Writes a lane's share of a row of sums.
  static HONE_DEVICE void leave(float* to, const float (&x)[kHead / 2], int r) {
    const int column = lane_of_warp() % 4 * 2;
    if constexpr (kNarrow) {
#pragma unroll
      for (int j = 0; j < kHead / 8; j += 4) {
#pragma unroll
        for (int e = 2 * r; e < 2 * r + 2; ++e) {
          store(to + narrow_column(j, column + e % 2),
                Vector<float, 4>{x[4 * j + e], x[4 * j + e + 4], x[4 * j + e + 8], x[4 * j + e + 12]});
        }
      }
    } else {
#pragma unroll
      for (int j = 0; j < kHead / 8; ++j) store(to + j * 8 + column, Vector<float, 2>{x[4 * j + 2 * r], x[4 * j + 2 * r + 1]});
    }
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
        const int row = i * 16 + lane / 4 + r * 8;
        if (first_row + row >= shared_rows(p)) continue;  // nobody reads it: of one query most rows of a product
        float* const to = left_by(warp(), row);
        leave(to, sums[i], r);
        if (lane % 4 == 0) store(to + kHead, Vector<float, 2>{rows[i].most[r], rows[i].total[r]});
      }
    }
    __syncthreads();
  }

  /// Four columns of a row: what sources (warps, or blocks) have left, added up.
  struct Quad {
    float most = -INFINITY, total = 0;
    Vector<float, 4> sum = {};
    HONE_DEVICE float inverse(float scale) const { return total > 0.0f ? scale / total : 0.0f; }  // a row may see no key of a part
  };
  /// `read(source, column)` gives four columns of the row; from column `state` on are most and total.
  template <int sources, int state, class Read>
  HONE_DEVICE Quad add_up(int column, Read read) const {
    constexpr int kAtOnce = min_of(sources, 8);  // loads whose latency is shared
    Quad quad;
    float factor[sources];
#pragma unroll
    for (int i = 0; i < sources; ++i) {
      factor[i] = read(i, state)[0];
      quad.most = fmaxf(quad.most, factor[i]);
    }
#pragma unroll
    for (int i = 0; i < sources; ++i) factor[i] = factor[i] == -INFINITY ? 0.0f : power_of_two((factor[i] - quad.most) * scale);
#pragma unroll
    for (int first = 0; first < sources; first += kAtOnce) {
      Vector<float, 4> sum[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) sum[i] = read(first + i, column);
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        quad.total += factor[first + i] * read(first + i, state)[1];
#pragma unroll
        for (int e = 0; e < 4; ++e) quad.sum[e] += factor[first + i] * sum[i][e];
      }
    }
    return quad;
  }
  HONE_DEVICE Quad over_warps(int row, int column) const {
    return add_up<c.warps, kHead>(column, [&](int from, int at) { return load<4>(left_by(from, row) + at); });
  }

  /// Calls visit(row, column) for this thread's share of the block's rows, four columns at a time: of `blocks` blocks that share them.
  template <class Visit>
  HONE_DEVICE void for_quads(int rank, int blocks, Visit visit) const {
    const int count = min_of(c.wm, (int)(shared_rows(p) - first_row)) * (kHead / 4);
    for (int i = rank * threads_of(c) + (int)threadIdx.x; i < count; i += blocks * threads_of(c))
      visit(i / (kHead / 4), i % (kHead / 4) * 4);
  }
  template <class Out>
  HONE_DEVICE void store_quad(const Quad& quad, int row, int column, Out* out, float* lse) const {
    const long to = row_at(first_row + row);
    const float inverse = quad.inverse(v_scale);
    store(out + to * kHead + column,
          Vector<Out, 4>{Out(quad.sum[0] * inverse), Out(quad.sum[1] * inverse), Out(quad.sum[2] * inverse), Out(quad.sum[3] * inverse)});
    if (column == 0) lse[to] = (quad.most * scale + __log2f(quad.total)) * 0.69314718f;
  }

  /// Writes the mean over all warps.
  template <class Out>
  HONE_DEVICE void write(Out* out, float* lse) const {
    for_quads(0, 1, [&](int row, int column) { store_quad(over_warps(row, column), row, column, out, lse); });
  }

  /// Writes the mean over all warps of the cluster's blocks, of which each has a part of the keys.
  template <class Out>
  HONE_DEVICE void write_with_cluster(int rank, Out* out, float* lse) const {
    for_quads(0, 1, [&](int row, int column) {
      const Quad quad = over_warps(row, column);
      store(left_by(0, row) + column, quad.sum);  // no other thread reads this place
      if (column == 0) store(left_by(0, row) + kHead + 4, Vector<float, 2>{quad.most, quad.total});
    });
    __syncwarp();  // threads had different numbers of places
    hopper::cluster_sync();
    for_quads(rank, c.split, [&](int row, int column) {
      const auto of_block = [&](int from, int at) { return read_remote(left_by(0, row) + at, from); };
      store_quad(add_up<c.split, kHead + 4>(column, of_block), row, column, out, lse);
    });
    __syncwarp();
    hopper::cluster_sync();  // no block may end while others read
  }
  /// Four floats of another block's shared memory.
  static HONE_DEVICE Vector<float, 4> read_remote(const float* from, int rank) {
    Vector<float, 4> quad;
#if defined(__CUDACC__)
    hopper::load_remote(quad.v, hopper::map_shared_rank(hopper::shared_address(from), rank));
#endif
    return quad;
  }
};
#endif
