#pragma once
// The steps of a block along k: tiles arrive while those before them are used.

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
/// Adds up a share of k.
template <class T, Config c> struct Block {
  static constexpr int kA = c.bm * c.bk * 2;  // bytes of a's tile
  Tile<T, c, c.bm, a_is_k_major(c), c.once == 1> a;
  Tile<T, c, c.bn, b_is_k_major(c), c.once == 2> b;
  long k_end;
  Place at;
  unsigned shared;
  int left = 0;             // of k, from the step that comes next
  bool rows_whole = false;  // all rows of both tiles lie in the matrices

  HONE_DEVICE unsigned stage(int index) const { return shared + index * stage_bytes(c); }

  /// By way of registers: the next step comes while the present one is used.
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

  /// Finds the block's first tiles, without reading them.
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
    end_group();
    a.advance(at.step);
    b.advance(at.step);
    left -= (int)at.step;
  }

  /// With stages - 1 steps on their way at any time, and no registers for them.
  HONE_DEVICE void accumulate_async(Sums<T, c>& sums) {
#pragma unroll 1
    for (int s = 0; s < c.stages - 1; ++s) start(s);
    int present = 0, filled = c.stages - 1;
    for (long k = at.k_begin; k < k_end; k += at.step) {
      wait_groups<c.stages - 2>();
      __syncthreads();  // everyone's part of this stage is here, and everyone has read the one before
      start(filled);
      sums.add(stage(present));
      present = present + 1 == c.stages ? 0 : present + 1;
      filled = filled + 1 == c.stages ? 0 : filled + 1;
    }
  }
};
#endif
