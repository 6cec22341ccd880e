#pragma once
// The main loop of a block: it loads tiles while it uses those before.

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
/// Adds up a share of k.
template <class T, Config c> struct Block {
  static constexpr int kA = c.bm * c.bk * 2;  // bytes of a's tile
  Tile<T, c, c.bm, a_is_k_major(), c.once == 1> a;
  Tile<T, c, c.bn, b_is_k_major(), c.once == 2> b;
  long k_end;
  Place at;
  unsigned shared;
  int left = 0;             // of k, from the next step on
  bool rows_whole = false;  // all rows of both tiles lie in the matrices

  HONE_DEVICE unsigned stage(int index) const { return shared + index * stage_bytes(c); }

  /// Registers load the next step while the present one is used.
  HONE_DEVICE void accumulate(Sums<T, c>& sums) const {
    Unaligned words_a[carried_a(c)], words_b[carried_b(c)];
    int present = 0;
    for (long k = at.k_begin; k < k_end + at.step; k += at.step) {
      if (k < k_end) {
        a.fetch(words_a, at.row, k, k_end);
        b.fetch(words_b, at.column, k, k_end);
      }
      if (k > at.k_begin) sums.add(stage(present));
      present ^= 1;
      if (k < k_end) {
        a.put(stage(present), words_a);
        b.put(stage(present) + kA, words_b);
      }
      __syncthreads();
    }
  }

  /// Computes the addresses of the block's first tiles without reading them.
  HONE_DEVICE void seek() {
    a.seek(at.row, at.k_begin);
    b.seek(at.column, at.k_begin);
    left = (int)(k_end - at.k_begin);
    rows_whole = a.rows_inside == c.bm && b.rows_inside == c.bn;
  }

  HONE_DEVICE void start(int index) {
    if (rows_whole && left >= c.bk) {
      a.template start<true>(stage(index), c.bk);
      b.template start<true>(stage(index) + kA, c.bk);
    } else if (left > 0) {
      a.template start<false>(stage(index), left);
      b.template start<false>(stage(index) + kA, left);
    }
    cp_async_commit_group();
    a.advance(at.step);
    b.advance(at.step);
    left -= (int)at.step;
  }

  /// The same with cp.async: stages - 1 steps are on their way at any time, without registers.
  HONE_DEVICE void accumulate_async(Sums<T, c>& sums) {
#pragma unroll 1
    for (int s = 0; s < c.stages - 1; ++s) start(s);
    int present = 0, filled = c.stages - 1;
    for (long k = at.k_begin; k < k_end; k += at.step) {
      cp_async_wait_group<c.stages - 2>();
      __syncthreads();  // all threads' copies of this stage have arrived, and all have read the stage before
      start(filled);
      sums.add(stage(present));
      present = present + 1 == c.stages ? 0 : present + 1;
      filled = filled + 1 == c.stages ? 0 : filled + 1;
    }
  }
};
#endif
