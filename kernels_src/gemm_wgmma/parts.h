#pragma once
// Sums of which several blocks have a part: a second pass adds them up (split), or a cluster reduces them in its shared memory (cluster_k).

#if defined(HONE_HOPPER)
/// Writes a split tile's part to memory.
template <class T, Config c>
HONE_DEVICE void write_partial(const Sums<T, c>& sums, float* partial, const Work& work, long rest) {
  const long slot = (work.part * rest + work.tile - (tiles_of(sums.p, c) - rest)) * cluster_of(c) + sums.rank;
  float* const to = partial + slot * (c.bm * c.bn);
  const int wide = sums.thread % 4 * 2;  // of 8
#pragma unroll
  for (int i = 0; i < sums.kProducts; ++i) {
#pragma unroll
    for (int j = 0; j < width_of(c) / 8; ++j) {
      const float* const s = sums.values[i] + 4 * j;
      if constexpr (c.swap_ab) {
        float* const at = to + (j * 8 + wide) * c.bn + sums.line_of(i);
#pragma unroll
        for (int e = 0; e < 4; ++e) at[e % 2 * c.bn + e / 2 * 8] = s[e];
      } else {
        float* const at = to + sums.line_of(i) * c.bn + j * 8 + wide;
        store(at, Vector<float, 2>{s[0], s[1]});
        store(at + 8 * c.bn, Vector<float, 2>{s[2], s[3]});
      }
    }
  }
}

/// The parts of a cluster: each block stores its part where its stages were, then adds up some rows of all parts.
template <Config c>
HONE_DEVICE hopper::u32 part_at(const SharedLayout<c>& layout, int row, int column) {
  return layout.base + (row * pitch_of(c) + column) * 4;
}
HONE_DEVICE void store_float(hopper::u32 address, float x) { asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(x) : "memory"); }
template <class T, Config c>
HONE_DEVICE void leave_part(const Sums<T, c>& sums) {
  hopper::named_barrier_sync(1, 128 * c.consumers);  // every warpgroup has read the last stages
#pragma unroll
  for (int i = 0; i < sums.kProducts * 2; ++i) {
#pragma unroll
    for (int j = 0; j < width_of(c) / 8; ++j) {
      const float* const s = sums.values[i / 2] + 4 * j + i % 2 * 2;
      const int high = sums.line_of(i / 2) + i % 2 * 8, wide = j * 8 + sums.thread % 4 * 2;
      if constexpr (c.swap_ab) {
        store_float(part_at(sums.layout, wide, high), s[0]);
        store_float(part_at(sums.layout, wide + 1, high), s[1]);
      } else {
        hopper::store_pair(part_at(sums.layout, high, wide), s[0], s[1]);
      }
    }
  }
}
template <class T, Config c>
HONE_DEVICE void add_parts(const Sums<T, c>& sums, const Finish<T>& finish, T* out) {
  constexpr int kRows = c.bm / c.cluster_k;
  const Problem p = sums.p;
  const Work work = work_at<c>(p, blockIdx.x / cluster_of(c), sums.rank, 0);
  for (int i = (sums.group * 128 + sums.thread) * 4; i < kRows * c.bn; i += 512 * c.consumers) {
    const int row = sums.rank * kRows + i / c.bn, column = i % c.bn;
    const long at_row = row_at<c>(p, work, row), at_column = (long)work.column_tile * c.bn + column;
    if (at_row >= p.m || at_column >= main_n(p, c)) continue;
    float all[4] = {};
#pragma unroll
    for (int block = 0; block < c.cluster_k; ++block) {
      float part[4];
      hopper::load_remote(part, hopper::map_shared_rank(part_at(sums.layout, row, column), block));
#pragma unroll
      for (int e = 0; e < 4; ++e) all[e] += part[e];
    }
    if constexpr (c.repack > 0) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        if (at_column + e < main_n(p, c)) finish.template write<1>(out, {all[e]}, at_row, at_column + e, p.n);
      }
    } else {
      finish.template write<4>(out, {all[0], all[1], all[2], all[3]}, at_row, at_column, p.n);
    }
  }
}
#endif
