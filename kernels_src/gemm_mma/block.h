#pragma once
// The steps of a block along k: tiles arrive while those before them are used.

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
/// Adds up a share of k.
template <class T, Config c> struct Block {
  static constexpr int kA = c.bm * c.bk * 2;  // bytes of a's tile
  Tile<T, c, a_is_deep(c) ? c.bm : c.bk, (a_is_deep(c) ? c.bk : c.bm) / 8, c.once == 1> a;
  Tile<T, c, b_is_deep(c) ? c.bn : c.bk, (b_is_deep(c) ? c.bk : c.bn) / 8, c.once == 2> b;
  Problem p;
  Place at;
  unsigned shared;

  HONE_DEVICE unsigned stage(int index) const { return shared + index * stage_bytes(c); }

  /// By way of registers: the next step comes while the present one is used.
  HONE_DEVICE void accumulate(Sums<T, c>& sums) const {
    Unaligned words_a[carried_a(c)], words_b[carried_b(c)];
    int present = 0;
    for (long k = at.k_begin; k < at.k_end + c.bk; k += c.bk) {
      if (k < at.k_end) {
        if constexpr (a_is_deep(c)) {
          a.fetch(words_a, at.row, k, p.m, at.k_end);
        } else {
          a.fetch(words_a, k, at.row, at.k_end, p.m);
        }
        if constexpr (b_is_deep(c)) {
          b.fetch(words_b, at.column, k, p.n, at.k_end);
        } else {
          b.fetch(words_b, k, at.column, at.k_end, p.n);
        }
      }
      if (k > at.k_begin) sums.add(stage(present));
      present ^= 1;
      if (k < at.k_end) {
        a.put(stage(present), words_a);
        b.put(stage(present) + kA, words_b);
      }
      __syncthreads();
    }
  }

  HONE_DEVICE void start(int index, long k) const {
    if (k < at.k_end) {
      if constexpr (a_is_deep(c)) {
        a.start(stage(index), at.row, k, p.m, at.k_end);
      } else {
        a.start(stage(index), k, at.row, at.k_end, p.m);
      }
      if constexpr (b_is_deep(c)) {
        b.start(stage(index) + kA, at.column, k, p.n, at.k_end);
      } else {
        b.start(stage(index) + kA, k, at.column, at.k_end, p.n);
      }
    }
    end_group();
  }

  /// With stages - 1 steps on their way at any time, and no registers for them.
  HONE_DEVICE void accumulate_async(Sums<T, c>& sums) const {
#pragma unroll
    for (int s = 0; s < c.stages - 1; ++s) start(s, at.k_begin + s * c.bk);
    int present = 0, filled = c.stages - 1;
    for (long k = at.k_begin; k < at.k_end; k += c.bk) {
      wait_groups<c.stages - 2>();
      __syncthreads();  // everyone's part of this stage is here, and everyone has read the one before
      start(filled, k + (c.stages - 1) * c.bk);
      sums.add(stage(present));
      present = present + 1 == c.stages ? 0 : present + 1;
      filled = filled + 1 == c.stages ? 0 : filled + 1;
    }
  }
};
#endif
