#pragma once
// What a warp computes: its rows of the tile, 16 or 32.

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
template <class T, Config c> struct Warp {
  static constexpr int kHead = Problem::head, kDown = c.wm / 16, kThreads = c.warps * 32, kTile = c.bn * kHead * 2, kSteps = kHead / 16;
  Problem p;
  unsigned shared;
  float scale;  // of scores, for powers of two
  TwoRows rows[kDown];
  float sums[kDown][kHead / 2] = {};
  unsigned held[c.held ? kDown * kSteps : 1][4];

  HONE_DEVICE unsigned k_at(int block) const { return shared + rows_of(c) * kHead * 2 + block % c.stages * kTile; }
  HONE_DEVICE unsigned v_at(int block) const { return k_at(block) + c.stages * kTile; }
  /// The first row of product i, in the tile.
  static HONE_DEVICE int row_of(int i) { return (int)threadIdx.x / 32 * c.wm + i * 16; }

  static HONE_DEVICE int lane() { return (int)threadIdx.x % 32; }
  /// Where a lane reads the first matrices of a tile, with the words 2 * `pair` and the next. Lines of other matrices are multiples of 8 further:
  /// the swizzle is the same, and the pair is one exclusive or.
  static HONE_DEVICE unsigned place(int line, int word, int pair) { return place_in_tile(line, word) ^ pair * 32; }

  /// 16 x 16 elements of q.
  HONE_DEVICE void read_q(unsigned (&to)[4], int i, int step) const {
    ldmatrix(to, shared + row_of(i) * (kHead * 2) + place(lane() % 16, lane() / 16, step));
  }

  HONE_DEVICE void multiply(float (&scores)[kDown][c.bn / 2], unsigned keys) const {
#pragma unroll
    for (int i = 0; i < kDown; ++i) {
#pragma unroll
      for (int e = 0; e < c.bn / 2; ++e) scores[i][e] = 0;
    }
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      unsigned a[kDown][4];
#pragma unroll
      for (int i = 0; i < kDown; ++i) {
        if constexpr (c.held) {
#pragma unroll
          for (int e = 0; e < 4; ++e) a[i][e] = held[i * kSteps + step][e];
        } else {
          read_q(a[i], i, step);
        }
      }
#pragma unroll
      for (int j = 0; j < c.bn / 16; ++j) {  // the last two matrices have keys from 8 on
        unsigned b[4];
        ldmatrix(b, keys + j * (16 * kHead * 2) + place(lane() / 16 * 8 + lane() % 8, lane() / 8 % 2, step));
#pragma unroll
        for (int i = 0; i < kDown; ++i) {
          mma<T>(four(scores[i], 2 * j), a[i], b[0], b[1]);
          mma<T>(four(scores[i], 2 * j + 1), a[i], b[2], b[3]);
        }
      }
    }
  }

  /// The four sums of a product of 8 columns.
  template <int n> static HONE_DEVICE float (&four(float (&sums)[n], int i))[4] { return *reinterpret_cast<float(*)[4]>(sums + 4 * i); }

  HONE_DEVICE void add(const unsigned (&weights)[kDown][c.bn / 4], unsigned values) {
#pragma unroll
    for (int step = 0; step < c.bn / 16; ++step) {
#pragma unroll
      for (int j = 0; j < kHead / 16; ++j) {  // the last two matrices have columns from 8 on
        unsigned b[4];
        ldmatrix_trans(b, values + step * (16 * kHead * 2) + place(lane() % 16, lane() / 16, j));
#pragma unroll
        for (int i = 0; i < kDown; ++i) {
          const unsigned a[4] = {weights[i][4 * step], weights[i][4 * step + 1], weights[i][4 * step + 2], weights[i][4 * step + 3]};
          mma<T>(four(sums[i], 2 * j), a, b[0], b[1]);
          mma<T>(four(sums[i], 2 * j + 1), a, b[2], b[3]);
        }
      }
    }
  }

  /// Blocks of keys run backwards: those on the diagonal come first. Copies of keys and values form groups of their own, in turn; at each
  /// wait, those that may be under way are of the later stages.
  HONE_DEVICE void run(const Rows<T>& of_q, const Rows<T>& of_k, const Rows<T>& of_v, const Work& work) {
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
      for (int i = 0; i < kDown * kSteps; ++i) read_q(held[i], i / kSteps, i % kSteps);
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
        if (block >= work.clear_end || block < work.clear_begin) {
          hide_unseen(scores[i], p, work.first + row_of(i) + lane() / 4, (long)block * c.bn);
        }
        rows[i].template weigh<c.lazy, c.by_fma>(scores[i], scale, factor[i]);
        TwoRows::rescale<c.lazy>(sums[i], factor[i]);
        TwoRows::round<T>(weights[i], scores[i]);
      }
      cp_async_wait_group<2 * c.stages - 2>();
      __syncthreads();  // the same for the values
      start_k(n + c.stages);
      add(weights, v_at(n));
    }
  }

  HONE_DEVICE void write(T* out, float* lse, const Work& work) {
#pragma unroll
    for (int i = 0; i < kDown; ++i) {
      write_rows(rows[i], sums[i], out, lse, scale, p, work, work.first + row_of(i) + lane() / 4);
    }
  }
};
#endif
