#pragma once
// The epilogue where a and b are swapped: a thread's sums are two rows of each of its columns, and matrices of 8 x 8 elements are
// transposed on their way to out.

#if defined(HONE_HOPPER)
/// Transposes a matrix of 8 x 8 elements of 16 bits, of which each lane has two neighbours in a row.
HONE_DEVICE hopper::u32 transpose(hopper::u32 pair) {
  hopper::u32 transposed;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(transposed) : "r"(pair));
  return transposed;
}

/// As hopper::stmatrix, each matrix transposed.
HONE_DEVICE void stmatrix_transposed(hopper::u32 row, hopper::u32 a, hopper::u32 b, hopper::u32 c, hopper::u32 d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}

/// Applies the epilogue to a thread's sums: they lack only rounding then.
template <class T, Config c>
HONE_DEVICE void complete_swapped(Sums<T, c>& sums, const Finish<T>& finish, const Work& work) {
  if (finish.is_plain()) return;
  const long first = (long)work.column_tile * c.bn, first_row = (long)work.row_tile * c.bm + sums.thread % 4 * 2;
#pragma unroll
  for (int i = 0; i < sums.kProducts * 2; ++i) {
    const long column = first + sums.line_of(i / 2) + i % 2 * 8;
    const bool is_inside = column < sums.p.n;
    const float bias = Finish<T>::kBiased && is_inside ? (float)finish.bias[column] : 0.0f;
#pragma unroll
    for (int j = 0; j < c.bm / 4; ++j) {
      const long row = first_row + j / 2 * 8 + j % 2;
      float& x = sums.values[i / 2][4 * (j / 2) + i % 2 * 2 + j % 2];
      const bool is_added = Finish<T>::kAdded && is_inside && row < sums.p.m;
      x = finish.element(x, is_added ? (float)finish.added[row * sums.p.n + column] : 0.0f, bias);
    }
  }
}

/// Rounds rows j * 8 to j * 8 + 15 of 16 columns and exchanges them, so that each of four lanes has 8 columns of a row: the first and the
/// last 8 of row j * 8 + lane / 4, then of the row 8 below.
template <class T>
HONE_DEVICE void take_swapped(hopper::u32 (&word)[4], const float* values, int j) {
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    const float* const s = values + 4 * (j + e / 2) + e % 2 * 2;
    word[e] = transpose(pair_of<T>(s[0], s[1]));
  }
  exchange(word);
}

/// Writes a tile whose rows are aligned, 32 bytes of each row at a time.
template <class T, Config c>
HONE_DEVICE void write_swapped(const Sums<T, c>& sums, T* out, const Work& work) {
  const int lane = sums.thread % 32, quarter = lane % 4;
  const long first_row = (long)work.row_tile * c.bm + lane / 4 + quarter / 2 * 8;
  const long first = (long)work.column_tile * c.bn + sums.first_line() + sums.thread / 32 * 16 + quarter % 2 * 8;
#pragma unroll
  for (int i = 0; i < sums.kProducts; ++i) {
    const long column = first + i * 64;
#pragma unroll
    for (int j = 0; j < c.bm / 8; j += 2) {
      hopper::u32 word[4];
      take_swapped<T>(word, sums.values[i], j);
      const long row = first_row + j * 8;
      if (row < sums.p.m && column < sums.p.n) {
        store_global(reinterpret_cast<unsigned*>(out + row * sums.p.n + column), Vector<unsigned, 4>{word[0], word[1], word[2], word[3]});
      }
    }
  }
}

/// Writes a tile whose rows begin anywhere: the warps of a warpgroup store 32 rows of their columns to shared memory, each as far behind a
/// multiple of 16 bytes as it is in out, then each writes eight of them.
template <class T, Config c>
HONE_DEVICE void write_anywhere_swapped(const Sums<T, c>& sums, T* out, const Work& work) {
  const int lane = sums.thread % 32, warp = sums.thread / 32;
  const long n = sums.p.n, first = (long)work.column_tile * c.bn + sums.first_line();
  const int width = (int)min_of(n - first, (long)lines_of(c));
  const hopper::u32 mine = sums.layout.staging() + sums.group * (32 * pitch_anywhere(c));
  const bool by_pairs = n % 2 == 0;  // rows begin at pairs
  const auto rows_of_eight = [&](int j) {
    const long row = (long)work.row_tile * c.bm + j * 8;
    return Rows{row * n + first, n, (int)row, 1, (int)sums.p.m};
  };
#pragma unroll
  for (int j = 0; j < c.bm / 8; j += 4) {
    if (j > 0) hopper::named_barrier_sync(1 + sums.group, 128);  // the rows before have been read
#pragma unroll
    for (int e = 0; e < min_of(4, c.bm / 8 - j); ++e) {
      const int row = e * 8 + lane / 4;
      const hopper::u32 to = mine + row * pitch_anywhere(c) + (rows_of_eight(j + e).begin(lane / 4) + warp * 16 + lane % 4 * 2) * 2;
#pragma unroll
      for (int i = 0; i < sums.kProducts * 2; ++i) {
        const float* const s = sums.values[i / 2] + 4 * (j + e) + i % 2 * 2;
        const hopper::u32 at = to + (i / 2 * 64 + i % 2 * 8) * 2, pair = transpose(pair_of<T>(s[0], s[1]));
        if (by_pairs) {
          store_shared(at, pair);
        } else {
          store_halves(at, pair);
        }
      }
    }
    hopper::named_barrier_sync(1 + sums.group, 128);
    if (j + warp < c.bm / 8) write_rows(sums, out, rows_of_eight(j + warp), width, mine + warp * 8 * pitch_anywhere(c));
  }
  hopper::named_barrier_sync(1 + sums.group, 128);  // before the next tile
}

/// Writes a tile by TMA: panels of 64 columns and of some rows go to shared memory, with TMA's swizzle.
template <class T, Config c>
HONE_DEVICE void write_staged_swapped(const Sums<T, c>& sums, const TensorMap& map, const Work& work, int& buffer) {
  constexpr int kRows = panel_rows(c), kDown = c.bm / kRows;
  const int lane = sums.thread % 32, chunk = sums.thread / 32 * 2 + lane / 8 % 2;
#pragma unroll
  for (int panel = 0; panel < sums.kProducts * kDown; ++panel) {
    const hopper::u32 mine = sums.layout.staging() + (sums.group * 2 + buffer) * (kRows * 128);
    buffer ^= 1;
    if (sums.thread == 0) hopper::bulk_wait_group_read<1>();
    hopper::named_barrier_sync(1 + sums.group, 128);
#pragma unroll
    for (int j = 0; j < kRows / 8; j += 2) {
      const float* s = sums.values[panel / kDown] + 4 * (panel % kDown * (kRows / 8) + j);
      const int line = (j + lane / 16) * 8 + lane % 8;
      stmatrix_transposed(mine + line * 128 + (chunk ^ lane % 8) * 16, pair_of<T>(s[0], s[1]), pair_of<T>(s[2], s[3]),
                          pair_of<T>(s[4], s[5]), pair_of<T>(s[6], s[7]));
    }
    hopper::fence_proxy_async();
    hopper::named_barrier_sync(1 + sums.group, 128);
    const int row = work.row_tile * c.bm + panel % kDown * kRows, column = work.column_tile * c.bn + sums.first_line() + panel / kDown * 64;
    if (sums.thread == 0) {
      if (row < sums.p.m && column < sums.p.n) hopper::tma_store(map, column, row, mine);
      hopper::bulk_commit_group();
    }
  }
}
#endif
