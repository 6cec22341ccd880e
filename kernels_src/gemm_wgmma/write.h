#pragma once
// The epilogue: from registers to out.

#if defined(HONE_HOPPER)
/// Exchanges columns among the four lanes of a row, so that each lane has 8 adjacent columns instead of 2 in each of four places.
HONE_DEVICE void exchange(hopper::u32 (&word)[4]) {
  const bool odd = threadIdx.x & 1, upper = threadIdx.x & 2;
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    const hopper::u32 got = __shfl_xor_sync(0xffffffffu, odd ? word[i] : word[i + 1], 1);
    word[i] = odd ? got : word[i];
    word[i + 1] = odd ? word[i + 1] : got;
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const hopper::u32 got = __shfl_xor_sync(0xffffffffu, upper ? word[i] : word[i + 2], 2);
    word[i] = upper ? got : word[i];
    word[i + 2] = upper ? word[i + 2] : got;
  }
}

HONE_DEVICE void store_shared(hopper::u32 address, hopper::u32 x) { asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(x) : "memory"); }

/// Loads what is added to a thread's sums in 32 columns of a row from `column` on, a pair in each word.
template <class T, Config c>
HONE_DEVICE void read_added(hopper::u32 (&word)[4], const T* line, long column, long width) {
  const int quarter = threadIdx.x % 4;
  if constexpr (c.repack == 0) {  // lines are whole words; exchange() is its own inverse
    const Vector<T, 8> eight = column + quarter * 8 < width ? load<8>(line + column + quarter * 8) : Vector<T, 8>{};
    const auto words = __builtin_bit_cast(Vector<hopper::u32, 4>, eight);
#pragma unroll
    for (int e = 0; e < 4; ++e) word[e] = words[e];
    exchange(word);
  } else {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const long at = column + e * 8 + quarter * 2;
      word[e] = (at < width ? line[at].bits : 0u) | (at + 1 < width ? (hopper::u32)line[at + 1].bits : 0u) << 16;
    }
  }
}

template <class T>
HONE_DEVICE float half_of(hopper::u32 word, int which) {
  return (float)__builtin_bit_cast(T, (hopper::u16)(word >> which * 16));
}

/// Words of 8 columns from word j on, four at most.
template <Config c>
HONE_DEVICE constexpr int words_from(int j) {
  return min_of(4, c.bn / 8 - j);
}

/// Applies the epilogue to a thread's sums: they lack only rounding then.
template <class T, Config c>
HONE_DEVICE void complete(Sums<T, c>& sums, const Finish<T>& finish, const Work& work) {
  if (finish.is_plain()) return;
  const long first = (long)work.column_tile * c.bn, n = main_n(sums.p, c);
#pragma unroll
  for (int i = 0; i < sums.kProducts * 2; ++i) {
    const long row = row_at<c>(sums.p, work, sums.line_of(i / 2) + i % 2 * 8);
#pragma unroll
    for (int j = 0; j < c.bn / 8; j += 4) {  // the last step may have two words instead of four
      hopper::u32 added[4] = {};
      if constexpr (Finish<T>::kAdded) read_added<T, c>(added, finish.added + row * sums.p.n, first + j * 8, row < sums.p.m ? n : 0);
#pragma unroll
      for (int e = 0; e < 2 * words_from<c>(j); ++e) {
        float& x = sums.values[i / 2][4 * (j + e / 2) + i % 2 * 2 + e % 2];
        const long column = first + (j + e / 2) * 8 + sums.thread % 4 * 2 + e % 2;
        x = finish.element(x, half_of<T>(added[e / 2], e % 2), Finish<T>::kBiased && column < n ? (float)finish.bias[column] : 0.0f);
      }
    }
  }
}

/// Rounds columns j * 8 to j * 8 + 31 of one of a thread's rows and exchanges them, so that each of four lanes has 8, or two of them in the
/// last columns.
template <class T, Config c>
HONE_DEVICE void take(hopper::u32 (&word)[4], const float* values, int j) {
#pragma unroll
  for (int e = 0; e < 4; ++e) word[e] = e < words_from<c>(j) ? pair_of<T>(values[4 * (j + e)], values[4 * (j + e) + 1]) : 0;
  exchange(word);
}

/// Writes a tile whose rows are aligned, 16 bytes at a time.
template <class T, Config c>
HONE_DEVICE void write(const Sums<T, c>& sums, T* out, const Work& work) {
  const long column = (long)work.column_tile * c.bn + sums.thread % 4 * 8;
#pragma unroll
  for (int i = 0; i < sums.kProducts * 2; ++i) {
    const long row = (long)work.row_tile * c.bm + sums.line_of(i / 2) + i % 2 * 8;
    T* const to = out + row * sums.p.n + column;
#pragma unroll
    for (int j = 0; j < c.bn / 8; j += 4) {
      hopper::u32 word[4];
      take<T, c>(word, sums.values[i / 2] + i % 2 * 2, j);
      if (row < sums.p.m && column + j * 8 < sums.p.n && sums.thread % 4 < words_from<c>(j)) {
        store_global(reinterpret_cast<unsigned*>(to + j * 8), Vector<unsigned, 4>{word[0], word[1], word[2], word[3]});
      }
    }
  }
}

/// The places in out of eight rows of a warp.
struct Rows {
  long at, stride;     // element of out of the first row, and elements from one row to the next
  int row, step, end;  // of out
  HONE_DEVICE bool has(int i) const { return row + i * step < end; }
  /// The element of out where row i begins, and its place in its word of 8.
  HONE_DEVICE long at_row(int i) const { return at + i * stride; }
  HONE_DEVICE int begin(int i) const { return (int)at_row(i) & 7; }
};
template <class T, Config c>
HONE_DEVICE Rows rows_at(const Sums<T, c>& sums, const Work& work, int first_row) {
  const long row = row_at<c>(sums.p, work, first_row), step = classes_of(sums.p, c);
  return {row * sums.p.n + (long)work.column_tile * c.bn, step * sums.p.n, (int)row, (int)step, (int)sums.p.m};
}

/// Writes the elements of a warp's eight rows outside of whole words: up to seven in front and seven at the end, one for each lane.
template <class T, Config c>
HONE_DEVICE void write_ends(const Sums<T, c>& sums, T* out, const Rows& rows, int width, hopper::u32 from) {
  const int lane = sums.thread % 32;
  const bool in_front = lane % 16 < 8;
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    const int row = i + lane / 16, begin = rows.begin(row), end = begin + width, last = end & ~7, element = (in_front ? 0 : last) + lane % 8;
    const bool mine = in_front ? begin > 0 : last > 0 || begin == 0;  // a row within one word has only a front
    if (rows.has(row) && mine && element >= begin && element < end) {
      out[rows.at_row(row) - begin + element] = __builtin_bit_cast(T, hopper::load_half(from + row * pitch_anywhere(c) + element * 2));
    }
  }
}

/// Writes eight rows that a warp finds in shared memory, in words of 16 bytes in long runs, because writes to parts of a sector are slow.
template <class T, Config c>
HONE_DEVICE void write_rows(const Sums<T, c>& sums, T* out, const Rows& rows, int width, hopper::u32 from) {
  constexpr int kWords = columns_anywhere(c) / 8, kRows = kWords > 16 ? 1 : kWords > 8 ? 2 : 4;  // words of a row; rows of one access
  const int lane = sums.thread % 32, of_row = lane / kWords, word = lane % kWords;
  hopper::u32 words[8 / kRows][4];  // all loads start before the first store
#pragma unroll
  for (int i = 0; i < 8 / kRows; ++i) {
    const int row = (i * kRows + of_row) % 8;
    hopper::load_words(words[i][0], words[i][1], words[i][2], words[i][3], from + row * pitch_anywhere(c) + word * 16);
  }
#pragma unroll
  for (int i = 0; i < 8 / kRows; ++i) {
    const int row = i * kRows + of_row, begin = rows.begin(row);
    if (rows.has(row) && of_row < kRows && word * 8 >= begin && word * 8 + 8 <= begin + width) {
      store_global(reinterpret_cast<unsigned*>(out + (rows.at_row(row) - begin + word * 8)),
                   Vector<unsigned, 4>{words[i][0], words[i][1], words[i][2], words[i][3]});
    }
  }
  write_ends<T, c>(sums, out, rows, width, from);
}

/// Stores two neighbours of a row to shared memory, at a multiple of 2 bytes.
HONE_DEVICE void store_halves(hopper::u32 to, hopper::u32 pair) {
  hopper::store_half(to, (hopper::u16)pair);
  hopper::store_half(to + 2, (hopper::u16)(pair >> 16));
}

/// Writes a tile whose rows begin anywhere. A warp stores eight rows to shared memory, each as far behind a multiple of 16 bytes as it is
/// in out, then writes them.
template <class T, Config c>
HONE_DEVICE void write_anywhere(const Sums<T, c>& sums, T* out, const Work& work) {
  constexpr int kWords = c.bn / 8;  // of a row
  const int lane = sums.thread % 32;
  const int width = (int)min_of(main_n(sums.p, c) - (long)work.column_tile * c.bn, (long)c.bn);
  const hopper::u32 mine = sums.layout.staging() + (sums.group * 4 + sums.thread / 32) * (8 * pitch_anywhere(c));
  const bool by_pairs = sums.p.n % 2 == 0;  // rows begin at pairs
#pragma unroll
  for (int half = 0; half < sums.kProducts * 2; ++half) {
    const Rows rows = rows_at(sums, work, sums.line_of(half / 2) - lane / 4 + half % 2 * 8);
    const hopper::u32 to = mine + lane / 4 * pitch_anywhere(c) + (rows.begin(lane / 4) + lane % 4 * 2) * 2;
    __syncwarp();
    const float* s = sums.values[half / 2] + half % 2 * 2;
    if (by_pairs) {
#pragma unroll
      for (int j = 0; j < kWords; ++j) store_shared(to + j * 16, pair_of<T>(s[4 * j], s[4 * j + 1]));
    } else {
#pragma unroll
      for (int j = 0; j < kWords; ++j) store_halves(to + j * 16, pair_of<T>(s[4 * j], s[4 * j + 1]));
    }
    __syncwarp();
    write_rows(sums, out, rows, width, mine);
  }
}

/// Writes a tile by TMA: one panel of 64 rows after another goes to shared memory, with TMA's swizzle. `buffer` is the panel to use next.
template <class T, Config c>
HONE_DEVICE void write_staged(const Sums<T, c>& sums, const TensorMap& map, const Work& work, int& buffer) {
  constexpr int kPanel = panel_out(c), kAcross = c.bn / kPanel;  // columns of a panel, panels side by side
  const int thread = sums.thread, line = thread / 32 * 16 + thread / 8 % 2 * 8 + thread % 8, chunk = thread % 32 / 16;
#pragma unroll
  for (int panel = 0; panel < sums.kProducts * kAcross; ++panel) {
    const hopper::u32 mine = sums.layout.staging() + (sums.group * 2 + buffer) * (kPanel * 128);
    buffer ^= 1;
    if (thread == 0) hopper::bulk_wait_group_read<1>();
    hopper::named_barrier_sync(1 + sums.group, 128);
#pragma unroll
    for (int j = 0; j < kPanel / 8; j += 2) {
      const float* s = sums.values[panel / kAcross] + panel % kAcross * (kPanel / 2) + 4 * j;
      const int swizzle = kPanel == 64 ? line % 8 : line / 2 % 4;
      hopper::stmatrix(mine + line * (kPanel * 2) + ((j + chunk) ^ swizzle) * 16, pair_of<T>(s[0], s[1]), pair_of<T>(s[2], s[3]),
                       pair_of<T>(s[4], s[5]), pair_of<T>(s[6], s[7]));
    }
    hopper::fence_proxy_async();
    hopper::named_barrier_sync(1 + sums.group, 128);
    const int row = work.row_tile * c.bm + sums.first_line() + panel / kAcross * 64,
              column = work.column_tile * c.bn + panel % kAcross * kPanel;
    if (thread == 0) {
      if (row < sums.p.m && column < sums.p.n) hopper::tma_store(map, column, row, mine);
      hopper::bulk_commit_group();
    }
  }
}
#endif
