#pragma once
// How tiles come into shared memory.
#include "../attention_copies.h"
#include "../attention_lines.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
/// The place, in bytes, of a word of 16 bytes of a line of a tile.
HONE_DEVICE unsigned place_in_tile(int line, int word) { return line * (int)(line_pitch() * 2) + (word ^ line % 8) * 16; }

/// Rows of one head in memory.
template <class T, int elements = Problem::head>
struct Rows {
  const T* from;
  long stride;
  int count;

  /// Starts copying `lines` rows from `first` on; rows that do not exist are zero.
  template <int lines, int threads>
  HONE_DEVICE void start(unsigned to, int first) const {
    constexpr int kWords = elements / 8, kCopies = ceil_div(lines * kWords, threads);
    const T* const begin = from + first * stride;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const int at = i * threads + (int)threadIdx.x, line = at / kWords, word = at % kWords;
      if (lines * kWords % threads != 0 && at >= lines * kWords) break;
      const bool inside = first + line < count;
      copy_word<false>(to + place_in_tile(line, word), inside ? begin + line * stride + word * 8 : from, inside);
    }
  }
};
#endif
