#pragma once
// What a block computes: rows of q of a sequence, and a part of its keys.
#include "../attention_copies.h"
#include "../attention_rows.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
/// The place, in bytes, of a word of 16 bytes of a line of q or of the cache. Words of eight neighbouring lines are in different banks.
HONE_DEVICE unsigned place_in_lines(int line, int word) { return line * (unsigned)(kLineOfCache * 2) + (word ^ line % 8) * 16; }

template <class T, Config c>
struct Block {
  static constexpr int kDown = c.wm / 16, kKeys = c.bn / c.warps, kColumns = (int)Problem::latent / c.warps;
  static constexpr int kWords = (int)kLineOfCache / 8, kRun = min_of(c.bn / 8, 8);  // words of a line; of weights, words that are swizzled
  static constexpr int kChains = c.wm == 16 ? 2 : 1;  // sums of scores beside each other: products that wait for one another take long
  Problem p;
  unsigned char* memory;
  float scale, sign;  // of scores, for powers of two: above 0; 1 or -1
  long sequence, first_row;
  int length;
  float most[kDown][2], total[kDown][2];
  float sums[kDown][kColumns / 2] = {};

  static HONE_DEVICE int warp() { return (int)threadIdx.x / 32; }
  static HONE_DEVICE int lane() { return (int)threadIdx.x % 32; }
  HONE_DEVICE unsigned shared() const { return (unsigned)__cvta_generic_to_shared(memory); }
  HONE_DEVICE unsigned stage(int index) const { return shared() + q_bytes(c) + index * stage_bytes(c); }
  HONE_DEVICE unsigned weights() const { return stage(c.stages); }
  static HONE_DEVICE unsigned place_of_weights(int row, int word) {
    return row * (c.bn * 2) + (word ^ (kRun == 8 ? row % 8 : row / 2 % 4)) * 16;
  }
  /// A float of each warp and row.
  HONE_DEVICE float* exchanged(int from, int row) const {
    return reinterpret_cast<float*>(memory + q_bytes(c) + c.stages * stage_bytes(c) + weights_bytes(c)) + from * c.wm + row;
  }
  /// Row r (of two) of the product i, in the block.
  static HONE_DEVICE int row_of(int i, int r) { return i * 16 + lane() / 4 + r * 8; }

  /// Starts copying the block's rows of q; rows that do not exist are zero.
  HONE_DEVICE void start_rows(const T* q) const {
    for (int i = (int)threadIdx.x; i < c.wm * kWords; i += threads_of(c)) {
      const int row = i / kWords, word = i % kWords;
      const bool inside = first_row + row < rows_of_sequence(p);
      const T* const from = q + (sequence * rows_of_sequence(p) + first_row + row) * kLineOfCache + word * 8;
      copy_word<false>(shared() + place_in_lines(row, word), inside ? from : q, inside);
    }
  }
  /// Starts copying the step of keys from `key` on, whose page is `page`; those from `end` on are zero.
  HONE_DEVICE void start(const T* cache, const i32* table, unsigned to, long page, int key, int end) const {
    const int page_keys = (int)p.page, first = key % page_keys;
    if (first + c.bn > page_keys && page_keys < (int)p.longest) {
      start_across_pages(cache, table, to, key, end);
      return;
    }
    const T* const from = cache + (page * p.page + first) * kLineOfCache;
    for (int i = (int)threadIdx.x; i < c.bn * kWords; i += threads_of(c)) {
      const int line = i / kWords, word = i % kWords;
      copy_word<false>(to + place_in_lines(line, word), from + i * 8, key + line < end);
    }
  }
  /// The same, for keys of several pages.
  HONE_DEVICE void start_across_pages(const T* cache, const i32* table, unsigned to, int key, int end) const {
    const int page_keys = (int)p.page;
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < c.bn * kWords; i += threads_of(c)) {
      const int line = i / kWords, word = i % kWords, place = min_of(key + line, end - 1);
      const T* const from = cache + ((long)table[place / page_keys] * page_keys + place % page_keys) * kLineOfCache;
      copy_word<false>(to + place_in_lines(line, word), from + word * 8, key + line < end);
    }
  }

  /// The steps of a part, from `first` to before `end`. `table` has the sequence's pages, `page` that of the first step; the page of a step
  /// is read while the step before is started.
  HONE_DEVICE void run(const T* cache, const i32* table, long page, int first, int end) {
    const int count = (end - first + c.bn - 1) / c.bn;
    const auto start_step = [&](int n) {
      if (n < count) {
        const long here = page;
        if (n + 1 < count) page = table[(first + (n + 1) * c.bn) / (int)p.page];
        start(cache, table, stage(n % c.stages), here, first + n * c.bn, end);
      }
      cp_async_commit_group();
    };
#pragma unroll
    for (int i = 0; i < kDown; ++i) {
      most[i][0] = most[i][1] = -INFINITY;
      total[i][0] = total[i][1] = 0;
    }
#pragma unroll 1
    for (int n = 0; n < c.stages - 1; ++n) start_step(n);
    for (int n = 0; n < count; ++n) {
      cp_async_wait_group<c.stages - 2>();
      __syncthreads();  // all copies of this step have arrived, and all have read the step before
      start_step(n + c.stages - 1);
      weigh(stage(n % c.stages), first + n * c.bn);
      __syncthreads();  // all weights are there
      add(stage(n % c.stages));
    }
    cp_async_wait_group<0>();
  }

  /// Scores of all rows and this warp's keys become weights in shared memory.
  HONE_DEVICE void weigh(unsigned tile, int key) {
    float partial[kChains][kDown][kKeys / 2] = {};
#pragma unroll 6
    for (int e = 0; e < kLineOfCache / 32; ++e) {
      unsigned a[kDown][2][4], b[kKeys / 8][4];
#pragma unroll
      for (int i = 0; i < kDown * 2; ++i)
        ldmatrix(a[i / 2][i % 2], shared() + place_in_lines(i / 2 * 16 + lane() % 16, e * 4 + i % 2 * 2 + lane() / 16));
#pragma unroll
      for (int j = 0; j < kKeys / 8; ++j) ldmatrix(b[j], tile + place_in_lines(warp() * kKeys + j * 8 + lane() % 8, e * 4 + lane() / 8));
#pragma unroll
      for (int i = 0; i < kDown; ++i) {
#pragma unroll
        for (int j = 0; j < kKeys / 8; ++j) {
          mma<T>(*reinterpret_cast<float(*)[4]>(partial[0][i] + 4 * j), a[i][0], b[j][0], b[j][1]);
          mma<T>(*reinterpret_cast<float(*)[4]>(partial[kChains - 1][i] + 4 * j), a[i][1], b[j][2], b[j][3]);
        }
      }
    }
    float(&scores)[kDown][kKeys / 2] = partial[0];
    if constexpr (kChains > 1) {
#pragma unroll
      for (int e = 0; e < kDown * kKeys / 2; ++e) scores[e / (kKeys / 2)][e % (kKeys / 2)] += partial[1][e / (kKeys / 2)][e % (kKeys / 2)];
    }
    const int mine = key + warp() * kKeys;
    const bool clear = sign > 0.0f && key + c.bn <= length - p.queries + 1;
#pragma unroll
    for (int i = 0; i < kDown; ++i) {
      if (!clear) TwoRows::hide(scores[i], sign, {0L, 0L}, {end_of(row_of(i, 0)), end_of(row_of(i, 1))}, mine);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float top = -INFINITY;
#pragma unroll
        for (int e = 0; e < kKeys / 4; ++e) top = fmaxf(top, scores[i][TwoRows::element(e, r)]);
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
        if (lane() % 4 == 0) *exchanged(warp(), row_of(i, r)) = top;
      }
    }
    __syncthreads();  // all have the largest scores of their keys there
#pragma unroll
    for (int i = 0; i < kDown; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float top = most[i][r];
#pragma unroll
        for (int w = 0; w < c.warps; ++w) top = fmaxf(top, *exchanged(w, row_of(i, r)));
        const float offset = top == -INFINITY ? 0.0f : top * scale, factor = power_of_two(most[i][r] * scale - offset);
        most[i][r] = top;
        total[i][r] *= factor;
#pragma unroll
        for (int e = 0; e < kColumns / 4; ++e) sums[i][TwoRows::element(e, r)] *= factor;
#pragma unroll
        for (int j = 0; j < kKeys / 8; ++j) {
          const float x = power_of_two(scores[i][4 * j + 2 * r] * scale - offset),
                      y = power_of_two(scores[i][4 * j + 2 * r + 1] * scale - offset);
          total[i][r] += x + y;
          const unsigned place = place_of_weights(row_of(i, r), warp() * (kKeys / 8) + j) + lane() % 4 * 4;
          *reinterpret_cast<unsigned*>(memory + (weights() - shared()) + place) = pair_bits<T>(x, y);
        }
      }
    }
  }
  /// The end of the keys that a row of the block sees.
  HONE_DEVICE long end_of(int row) const { return end_of_row(p, (int)first_row + row, length); }

  /// Adds the product of all weights and this warp's columns.
  HONE_DEVICE void add(unsigned tile) {
#pragma unroll
    for (int step = 0; step < c.bn / 16; ++step) {
      unsigned a[kDown][4];
#pragma unroll
      for (int i = 0; i < kDown; ++i) ldmatrix(a[i], weights() + place_of_weights(i * 16 + lane() % 16, step * 2 + lane() / 16));
#pragma unroll
      for (int j = 0; j < kColumns / 16; ++j) {
        unsigned b[4];
        ldmatrix_trans(b, tile + place_in_lines(step * 16 + lane() % 16, warp() * (kColumns / 8) + j * 2 + lane() / 16));
#pragma unroll
        for (int i = 0; i < kDown; ++i) {
          mma<T>(*reinterpret_cast<float(*)[4]>(sums[i] + 8 * j), a[i], b[0], b[1]);
          mma<T>(*reinterpret_cast<float(*)[4]>(sums[i] + 8 * j + 4), a[i], b[2], b[3]);
        }
      }
    }
  }

  /// Divides by the totals of all warps and writes.
  template <class Out>
  HONE_DEVICE void write(Out* out, float* lse) {
    __syncthreads();  // all have read the largest scores
#pragma unroll
    for (int i = 0; i < kDown * 2; ++i) {
      float& mine = total[i / 2][i % 2];
      mine += __shfl_xor_sync(0xffffffffu, mine, 1);
      mine += __shfl_xor_sync(0xffffffffu, mine, 2);
      if (lane() % 4 == 0) *exchanged(warp(), row_of(i / 2, i % 2)) = mine;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kDown; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const long row = first_row + row_of(i, r), at = sequence * rows_of_sequence(p) + row;
        if (row >= rows_of_sequence(p)) continue;
        float all = 0;
#pragma unroll
        for (int w = 0; w < c.warps; ++w) all += *exchanged(w, row_of(i, r));
        const float inverse = all > 0.0f ? 1.0f / all : 0.0f;  // of several queries the first ones may see no key of the last part
        Out* const to = out + at * Problem::latent + warp() * kColumns + lane() % 4 * 2;
#pragma unroll
        for (int j = 0; j < kColumns / 8; ++j) {
          store(to + j * 8, Vector<Out, 2>{Out(sums[i][4 * j + 2 * r] * inverse), Out(sums[i][4 * j + 2 * r + 1] * inverse)});
        }
        if (warp() == 0 && lane() % 4 == 0) lse[at] = (most[i][r] * scale + __log2f(all)) * 0.69314718f;
      }
    }
  }
};
#endif
