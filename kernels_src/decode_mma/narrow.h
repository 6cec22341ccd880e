#pragma once
// Tiles of keys and values of 8 bits, which become f16 on their way from shared memory to a product: lanes read whole words of 16 bytes, so
// products take the elements of a row, and the columns of sums, in another order.
#include "../attention_mma/products.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
/// The place, in bytes, of a word of 16 bytes of a line. Eight lanes that read four words of two lines, or two words of four lines that
/// are every second one, use different banks.
HONE_DEVICE unsigned place_in_narrow_tile(int line, int word) {
  constexpr int kWords = Problem::head / 16;
  return ((line * kWords + word) ^ ((line & 6) ^ (kWords >= 8 ? (line & 1) * 4 : 0))) * 16;
}

/// Four e4m3 as f16, two in each word. Below compute capability 8.9 a NaN becomes a number.
HONE_DEVICE void widen(unsigned (&to)[2], unsigned bytes) {
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 890
  asm("{ .reg .b16 low, high; mov.b32 {low, high}, %2; cvt.rn.f16x2.e4m3x2 %0, low; cvt.rn.f16x2.e4m3x2 %1, high; }"
      : "=r"(to[0]), "=r"(to[1])
      : "r"(bytes));
#else
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const unsigned pair = __byte_perm(bytes, 0, i == 0 ? 0x1404 : 0x3424);    // each in the upper half of 16 bits
    const unsigned small = (pair & 0x80008000u) | (pair >> 1 & 0x3f803f80u);  // exponents are 8 too small
    const float low = (float)__builtin_bit_cast(f16, (unsigned short)small),
                high = (float)__builtin_bit_cast(f16, (unsigned short)(small >> 16));
    to[i] = pair_bits<f16>(low * 256.0f, high * 256.0f);
  }
#endif
}

/// Two numbers of one type in another.
template <class From, class To>
HONE_DEVICE unsigned convert_pair(unsigned bits) {
  return pair_bits<To>((float)__builtin_bit_cast(From, (unsigned short)bits),
                       (float)__builtin_bit_cast(From, (unsigned short)(bits >> 16)));
}

/// As read_rows, in the order of scores_of_narrow_tile: of each 64 elements, a lane has those of one word of 16 bytes of a key, four in a
/// step.
template <class T>
HONE_DEVICE void read_rows_narrow(unsigned (&to)[4], const unsigned char* tile, int row, int step) {
  const int lane = lane_of_warp();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const unsigned place = place_in_tile(row + half * 8 + lane / 4, step / 4 * 8 + lane % 4 * 2 + step % 4 / 2);
    const Vector<unsigned, 2> words = load<2>(reinterpret_cast<const unsigned*>(tile + place + step % 2 * 8));
    to[half] = convert_pair<T, f16>(words[0]);
    to[half + 2] = convert_pair<T, f16>(words[1]);
  }
}

/// As scores_of_tile.
template <int down, int keys, class ReadQ>
HONE_DEVICE void scores_of_narrow_tile(float (&scores)[down][keys / 2], const unsigned char* tile, ReadQ read_q) {
  const int lane = lane_of_warp();
#pragma unroll
  for (int i = 0; i < down; ++i) {
#pragma unroll
    for (int e = 0; e < keys / 2; ++e) scores[i][e] = 0;
  }
#pragma unroll
  for (int part = 0; part < Problem::head / 64; ++part) {
    unsigned a[down][4][4];
#pragma unroll
    for (int i = 0; i < down * 4; ++i) read_q(a[i / 4][i % 4], i / 4, part * 4 + i % 4);
#pragma unroll
    for (int j = 0; j < keys / 8; ++j) {
      const unsigned place = place_in_narrow_tile(j * 8 + lane / 4, part * 4 + lane % 4);
      const Vector<unsigned, 4> word = load<4>(reinterpret_cast<const unsigned*>(tile + place));
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        unsigned b[2];
        widen(b, word[step]);
#pragma unroll
        for (int i = 0; i < down; ++i) mma<f16>(four(scores[i], j), a[i][step], b[0], b[1]);
      }
    }
  }
}

/// Columns that are neighbours in the sums of a lane: those that it reads at once.
constexpr int kNarrowRun = min_of(line_pitch() / 8, 16L);
/// The column of v of column `column` of product `j` of 8 columns.
HONE_DEVICE int narrow_column(int j, int column) { return (column + j / kNarrowRun * 8) * kNarrowRun + j % kNarrowRun; }

/// As add_tile; the columns of sums are in the order of narrow_column.
template <int down, int keys>
HONE_DEVICE void add_narrow_tile(float (&sums)[down][Problem::head / 2], const unsigned (&weights)[down][keys / 4],
                                 const unsigned char* tile) {
  const int lane = lane_of_warp();
#pragma unroll
  for (int step = 0; step < keys / 16; ++step) {
#pragma unroll
    for (int run = 0; run < Problem::head / 8; run += kNarrowRun) {
      Vector<unsigned, kNarrowRun / 4> line[4];  // of keys 2 l, 2 l + 1, 2 l + 8, 2 l + 9 of lane l of four
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int byte = narrow_column(run, lane / 4);
        const unsigned place = place_in_narrow_tile(step * 16 + lane % 4 * 2 + i % 2 + i / 2 * 8, byte / 16) + byte % 16;
        line[i] = load<kNarrowRun / 4>(reinterpret_cast<const unsigned*>(tile + place));
      }
#pragma unroll
      for (int j = 0; j < kNarrowRun; j += 2) {  // two columns at a time
        unsigned low[2], high[2];
        widen(low, __byte_perm(line[0][j / 4], line[1][j / 4], j % 4 == 0 ? 0x5140 : 0x7362));
        widen(high, __byte_perm(line[2][j / 4], line[3][j / 4], j % 4 == 0 ? 0x5140 : 0x7362));
#pragma unroll
        for (int i = 0; i < 2 * down; ++i) {
          const unsigned* const w = weights[i / 2] + 4 * step;
          const unsigned a[4] = {w[0], w[1], w[2], w[3]};
          mma<f16>(four(sums[i / 2], run + j + i % 2), a, low[i % 2], high[i % 2]);
        }
      }
    }
  }
}
#endif
