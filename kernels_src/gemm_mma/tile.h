#pragma once
// What a block computes, and how it loads the tiles of its operands into shared memory.

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
/// The block's tile, and its share of k: bk from k_begin on, bk from k_begin + step on, and so on. The steps of all shares interleave, so
/// that blocks read adjacent memory at any time: 16x4096x4096 took 13 us instead of 10 with contiguous shares.
struct Place {
  long row, column, k_begin, step;
};

template <Config c> HONE_DEVICE Place place_of(Problem p) {
  const int tiles_m = (int)ceil_div(p.m, (long)c.bm), tiles_n = (int)ceil_div(p.n, (long)c.bn);
  const int block = (int)blockIdx.x / c.cluster, per_group = c.raster * tiles_n, group = block / per_group;
  const int height = min_of(c.raster, tiles_m - group * c.raster), within = block % per_group;
  const int share = c.cluster > 1 ? (int)blockIdx.x % c.cluster : (int)blockIdx.y;
  return {(group * c.raster + within % height) * (long)c.bm, within / height * (long)c.bn, (long)share * c.bk, (long)shares_of(c) * c.bk};
}

/// The swizzled place, in bytes, of word `word` of a line of `words` words of a tile.
template <int words> HONE_DEVICE unsigned place_in_tile(int line, int word) {
  constexpr int kLines = words >= 8 ? 1 : 8 / words;  // lines that share 128 bytes, which are all banks
  return (line * words + (word ^ line / kLines % min_of(words, 8))) * 16;
}

/// Eight elements in registers: two aligned words that contain them, or the elements themselves at the end of the array.
struct Unaligned {
  uint4 low, high;
  int shift, count;  // the first element in `low`; how many of the 8 exist
};

/// One operand, and a thread's part of its tiles: kRows rows (of a, columns of b) and bk of k, in the lines of memory. kKMajor:
/// neighbours in a line differ in k.
template <class T, Config c, int kRows, bool kKMajor, bool kOnce> struct Tile {
  static constexpr int kThreads = threads_of(c), kLines = kKMajor ? kRows : c.bk, kWords = (kKMajor ? c.bk : kRows) / 8;
  static constexpr int kCarried = ceil_div(kLines * kWords, kThreads);
  static constexpr int kStride = kThreads / kWords;  // lines from one word of a thread to the next
  const T* from;
  long lines, columns;    // of the matrix
  const T* at = nullptr;  // this thread's first word of the next step
  int rows_inside = 0;    // rows of the tile that lie in the matrix

  static HONE_DEVICE int line(int i) { return (int)threadIdx.x / kWords + i * kStride; }
  static HONE_DEVICE int word() { return (int)threadIdx.x % kWords; }
  /// Small tiles have fewer words than there are threads.
  static HONE_DEVICE bool exists() { return kLines * kWords >= kThreads || (int)threadIdx.x < kLines * kWords; }
  /// The place of word i; `first` is that of word 0. The swizzle permutes words within lines of 128 bytes.
  static HONE_DEVICE unsigned place(unsigned first, int i) {
    constexpr int kShare = kWords >= 8 ? 1 : 8 / kWords;
    return (first ^ i * kStride / kShare % min_of(kWords, 8) * 16) + i * kStride * kWords * 16;
  }

  HONE_DEVICE void seek(long row, long k) {
    at = from + (kKMajor ? (row + line(0)) * columns + k : (k + line(0)) * columns + row) + word() * 8;
    rows_inside = (int)min_of((long)kRows, (kKMajor ? lines : columns) - row);
  }
  HONE_DEVICE void advance(long k) { at += kKMajor ? k : k * columns; }
  HONE_DEVICE bool inside(int i, int e, int k_left) const {
    return line(i) < (kKMajor ? rows_inside : k_left) && word() * 8 + e < (kKMajor ? k_left : rows_inside);
  }

  /// Starts copying the next step's tile, with k_left of k left; elements beyond the matrix are zero. kWhole: there are none.
  template <bool kWhole> HONE_DEVICE void start(unsigned to, int k_left) const {
    if (!exists()) return;
    const unsigned first = to + place_in_tile<kWords>(line(0), word());
#pragma unroll
    for (int i = 0; i < kCarried; ++i) {
#pragma unroll
      for (int e = 0; e < 8; e += c.vec) {
        copy_async<c.vec, kOnce>(place(first, i) + e * 2, at + i * kStride * columns + e, kWhole || inside(i, e, k_left));
      }
    }
  }

  /// Loads the tile of (row, k) into registers, from lines that begin anywhere.
  HONE_DEVICE void fetch(Unaligned (&words)[kCarried], long row, long k, long k_end) const {
    const long first_line = kKMajor ? row : k, first_column = kKMajor ? k : row;
    const long end_line = kKMajor ? lines : k_end, end_column = kKMajor ? k_end : columns;
#pragma unroll
    for (int i = 0; i < kCarried; ++i) {
      const long at_line = first_line + line(i), column = first_column + word() * 8;
      const long first = at_line * columns + column, begin = first / 8 * 8;
      Unaligned& to = words[i];
      to.count = exists() && at_line < end_line ? (int)min_of(8L, max_of(0L, end_column - column)) : 0;
      to.shift = (int)(first - begin);
      if (to.count == 0) continue;
      if (begin + 16 <= lines * columns) {
        to.low = *reinterpret_cast<const uint4*>(from + begin);
        to.high = *reinterpret_cast<const uint4*>(from + begin + 8);
      } else {
        unsigned pairs[4] = {};
#pragma unroll
        for (int e = 0; e < 8; ++e) pairs[e / 2] |= e < to.count ? (unsigned)from[first + e].bits << e % 2 * 16 : 0;
        to.low = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
        to.shift = 0;
      }
    }
  }

  HONE_DEVICE void put(unsigned to, const Unaligned (&words)[kCarried]) const {
#pragma unroll
    for (int i = 0; i < kCarried; ++i) {
      if (!exists()) continue;
      const Unaligned& w = words[i];
      unsigned all[8] = {w.low.x, w.low.y, w.low.z, w.low.w, w.high.x, w.high.y, w.high.z, w.high.w}, pair[4];
#pragma unroll
      for (int e = 0; e < 6; ++e) all[e] = w.shift & 4 ? all[e + 2] : all[e];
#pragma unroll
      for (int e = 0; e < 5; ++e) all[e] = w.shift & 2 ? all[e + 1] : all[e];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        pair[e] = __funnelshift_r(all[e], all[e + 1], (w.shift & 1) * 16);
        pair[e] = 2 * e >= w.count ? 0 : 2 * e + 1 >= w.count ? pair[e] & 0xffff : pair[e];
      }
      asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to + place_in_tile<kWords>(line(i), word())), "r"(pair[0]),
                   "r"(pair[1]), "r"(pair[2]), "r"(pair[3])
                   : "memory");
    }
  }
};
#endif
