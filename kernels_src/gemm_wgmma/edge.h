#pragma once
// Ragged matrices: copies of those whose lines are not multiples of 16 bytes, and the last columns of out.

/// Copies a matrix so that its lines begin at multiples of 16 bytes, in words of 8 elements, each from two aligned words. A thread has four
/// words on their way.
template <class T>
HONE_DEVICE void pack(const T* from, T* to, long lines, long length) {
  constexpr int kWords = 4;
  const unsigned per_line = (unsigned)ceil_div(length, 8L), words = (unsigned)lines * per_line;
  const long count = lines * length;
  Vector<unsigned, 4> low[kWords], high[kWords];
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    const unsigned index = (blockIdx.x * kWords + i) * 256 + threadIdx.x, line = index / per_line;
    const long begin = (line * length + (index - line * per_line) * 8) / 8 * 8;
    if (index < words && begin + 16 <= count) {
      low[i] = __builtin_bit_cast(Vector<unsigned, 4>, load<8>(from + begin));
      high[i] = __builtin_bit_cast(Vector<unsigned, 4>, load<8>(from + begin + 8));
    }
  }
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    const unsigned index = (blockIdx.x * kWords + i) * 256 + threadIdx.x, line = index / per_line, word_of_line = index - line * per_line;
    const long first = line * length + word_of_line * 8, begin = first / 8 * 8;
    if (index >= words) continue;
    T* const at = to + line * padded(length) + word_of_line * 8;
    if (begin + 16 <= count) {
      unsigned both[4];
      funnel(both, {low[i][0], low[i][1], low[i][2], low[i][3], high[i][0], high[i][1], high[i][2], high[i][3]}, (int)(first % 8));
      store(at, __builtin_bit_cast(decltype(load<8>(from)), Vector<unsigned, 4>{both[0], both[1], both[2], both[3]}));
    } else {  // the last words may reach beyond the end of the matrix
      for (int e = 0; e < 8; ++e) at[e] = first + e < count ? from[first + e] : T(0.0f);
    }
  }
}

#if defined(HONE_HOPPER)
/// The last columns of out (c.repack == 2). The three idle warps of the producer warpgroup add them up, each some rows.
template <class T, Config c>
struct Edge {
  static constexpr int kRows = 8;  // that a warp adds up at once
  Problem p;
  const T *a, *b;
  T* out;
  Finish<T> finish;

  HONE_DEVICE static int lane() { return (int)threadIdx.x % 32; }

  HONE_DEVICE void add() const {
    const long per_column = ceil_div(p.m, (long)kRows), count = per_column * edge_of(p, c);
    for (long i = blockIdx.x * 3L + threadIdx.x / 32 - 1; i < count; i += gridDim.x * 3L) {
      add_rows(i % per_column * kRows, main_n(p, c) + i / per_column);
    }
  }

  /// Eight rows of a column of out.
  HONE_DEVICE void add_rows(long row, long column) const {
    const T* lines[kRows];
    float sums[kRows] = {};
#pragma unroll
    for (int i = 0; i < kRows; ++i) lines[i] = a + min_of(row + i, p.m - 1) * p.k;
#pragma unroll 4
    for (long k = lane(); k < p.k; k += 32) {
      const float factor = (float)b[k * p.n + column];
#pragma unroll
      for (int i = 0; i < kRows; ++i) sums[i] += (float)lines[i][k] * factor;
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int distance = 16; distance > 0; distance /= 2) sums[i] += __shfl_xor_sync(0xffffffffu, sums[i], distance);
      if (lane() == i && row + i < p.m) finish.template write<1>(out, {sums[i]}, row + i, column, p.n);
    }
  }
};
#endif
