#pragma once
// What a block computes, and its operands' tiles on their way from memory to shared memory.

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
/// The block's place: its tile, and its share of k.
struct Place {
  long row, column, k_begin, k_end;
};

template <Config c> HONE_DEVICE Place place_of(Problem p) {
  const int tiles_m = (int)ceil_div(p.m, (long)c.bm), tiles_n = (int)ceil_div(p.n, (long)c.bn);
  const int block = (int)blockIdx.x / c.cluster, per_group = c.raster * tiles_n, group = block / per_group;
  const int height = min_of(c.raster, tiles_m - group * c.raster), within = block % per_group;
  const long share = ceil_div(ceil_div(p.k, (long)c.bk), (long)shares_of(c)) * c.bk;
  const long begin = min_of(p.k, share * (c.cluster > 1 ? (int)blockIdx.x % c.cluster : (int)blockIdx.y));
  return {(group * c.raster + within % height) * (long)c.bm, within / height * (long)c.bn, begin, min_of(p.k, begin + share)};
}

/// Where word `word` of a line of `words` words lies in a tile: in bytes, with places exchanged by line.
template <int words> HONE_DEVICE unsigned place_in_tile(int line, int word) {
  constexpr int kLines = words >= 8 ? 1 : 8 / words;  // that share 128 bytes, all banks
  return (line * words + (word ^ line / kLines % min_of(words, 8))) * 16;
}

/// Eight elements on their way: two aligned words that hold them, or the elements themselves at the end of the array.
struct Unaligned {
  uint4 low, high;
  int shift, count;  // first element in `low`; how many of the 8 are wanted
};

/// A matrix whose lines lie packed (rows of `columns` elements, as memory has them), in tiles of kLines lines and kWords words.
template <class T, Config c, int kLines, int kWords, bool kOnce> struct Tile {
  static constexpr int kThreads = threads_of(c), kCarried = ceil_div(kLines * kWords, kThreads);
  const T* from;
  long rows, columns;

  /// Starts copying the tile at (row, column); what lies beyond the matrix, or beyond row `end_row` or column `end_column`, is zero.
  HONE_DEVICE void start(unsigned to, long row, long column, long end_row, long end_column) const {
#pragma unroll
    for (int i = 0; i < kCarried; ++i) {
      const int slot = (int)threadIdx.x + i * kThreads, line = slot / kWords, word = slot % kWords;
      if (kLines * kWords % kThreads != 0 && slot >= kLines * kWords) continue;
#pragma unroll
      for (int e = 0; e < 8; e += c.vec) {
        const long at_row = row + line, at_column = column + word * 8 + e;
        const bool inside = at_row < end_row && at_column < end_column;
        copy_async<c.vec, kOnce>(to + place_in_tile<kWords>(line, word) + e * 2, from + (inside ? at_row * columns + at_column : 0), inside);
      }
    }
  }

  HONE_DEVICE void fetch(Unaligned (&words)[kCarried], long row, long column, long end_row, long end_column) const {
#pragma unroll
    for (int i = 0; i < kCarried; ++i) {
      const int slot = (int)threadIdx.x + i * kThreads, line = slot / kWords, word = slot % kWords;
      const long at_row = row + line, at_column = column + word * 8, first = at_row * columns + at_column, begin = first / 8 * 8;
      Unaligned& to = words[i];
      const bool exists = kLines * kWords % kThreads == 0 || slot < kLines * kWords;
      to.count = exists && at_row < end_row ? (int)min_of(8L, max_of(0L, end_column - at_column)) : 0;
      to.shift = (int)(first - begin);
      if (to.count == 0) continue;
      if (begin + 16 <= rows * columns) {
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
      const int slot = (int)threadIdx.x + i * kThreads;
      if (kLines * kWords % kThreads != 0 && slot >= kLines * kWords) continue;
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
      asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to + place_in_tile<kWords>(slot / kWords, slot % kWords)), "r"(pair[0]),
                   "r"(pair[1]), "r"(pair[2]), "r"(pair[3])
                   : "memory");
    }
  }
};
#endif
