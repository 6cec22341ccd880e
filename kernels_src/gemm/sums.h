#pragma once
// The sums of one thread, and their reduction.

/// Waits for all threads of the block, or of all blocks of the cluster.
template <int cluster> HONE_DEVICE void cluster_barrier() {
  if constexpr (cluster == 1) {
    __syncthreads();
  } else {
    hopper::cluster_sync();
  }
}

/// The packet at `from` in the shared memory of block `rank` of the cluster.
template <int cluster> HONE_DEVICE Vector<float, 4> read_remote(const float* from, int rank) {
#if defined(__CUDACC__)
  if constexpr (cluster > 1) {
    Vector<float, 4> packet;
    hopper::load_remote(packet.v, hopper::map_shared_rank(hopper::shared_address(from), rank));
    return packet;
  }
#endif
  return load<4>(from);
}

/// Writes a word to memory. Reduced sums go in one wide store. The compiler may split the stores of a thread's own sums: a wide store needs
/// them in adjacent registers, which would restrict register allocation in the main loop.
template <bool is_own, class T, int N> HONE_DEVICE void store_sums(T* to, const Vector<T, N>& word) {
  if constexpr (is_own) {
    store(to, word);
  } else {
    store_global(to, word);
  }
}

/// Writes those of four sums of a row that lie inside of out, in words of out_vec elements.
template <bool is_own, Config c, class T>
HONE_DEVICE void write_word(const Finish<T>& finish, T* out, const Vector<float, 4>& sums, long row, long column, long n) {
  constexpr int kWidth = min_of(4, out_vec(c));
#pragma unroll
  for (int first = 0; first < 4; first += kWidth) {
    if (column + first >= n) continue;
    Vector<float, kWidth> word;
#pragma unroll
    for (int e = 0; e < kWidth; ++e) word[e] = sums[first + e];
    word = finish.word(word, row, column + first, n);
    Vector<T, kWidth> rounded;
#pragma unroll
    for (int e = 0; e < kWidth; ++e) rounded[e] = T(word[e]);
    store_sums<is_own>(out + row * n + column + first, rounded);
  }
}

/// A thread's rows and columns are groups of 4, a warp's width apart, so that the lanes read adjacent shared memory. The warps of each
/// slice cover the tile and add up their part of every step.
template <Config c> struct Sums {
  static constexpr int kRows = 4, kColumns = 4, kDown = 32 / c.lanes;
  static constexpr int kThreads = threads_of(c) / c.slices, kDepth = c.bk / c.slices;  // of a slice
  int first_row, first_column;  // in the block's tile
  int slice;
  float values[c.tm][c.tn];

  static HONE_DEVICE int lane_row() { return (int)threadIdx.x % 32 / c.lanes; }
  static HONE_DEVICE int lane_column() { return (int)threadIdx.x % c.lanes; }

  HONE_DEVICE Sums() {
    constexpr int kWarpsAcross = c.bn / (c.lanes * c.tn);
    const int warp = (int)threadIdx.x % kThreads / 32;
    slice = (int)threadIdx.x / kThreads;
    first_row = warp / kWarpsAcross * kDown * c.tm + lane_row() * kRows;
    first_column = warp % kWarpsAcross * c.lanes * c.tn + lane_column() * kColumns;
  }
  HONE_DEVICE int row(int i) const { return first_row + i / kRows * (kDown * kRows) + i % kRows; }
  HONE_DEVICE int column(int j) const { return first_column + j / kColumns * (c.lanes * kColumns) + j % kColumns; }
  /// Whether any part of this thread's warp lies in the matrix, of a tile with so many rows and columns inside.
  HONE_DEVICE bool warp_inside(int rows, int columns) const {
    return first_row - lane_row() * kRows < rows && first_column - lane_column() * kColumns < columns;
  }

  HONE_DEVICE void clear() {
#pragma unroll
    for (int i = 0; i < c.tm; ++i) {
#pragma unroll
      for (int j = 0; j < c.tn; ++j) values[i][j] = 0.0f;
    }
  }

  /// What this thread reads for one k.
  struct Fragment {
    Vector<float, kRows> a[c.tm / kRows];
    Vector<float, kColumns> b[c.tn / kColumns];
  };
  /// Reads the columns first: the compiler then shares operands of multiply-adds more often (2 % at 4096x4096x4096).
  HONE_DEVICE Fragment read(const float* stage, int k_of_slice) const {
    const int k = slice * kDepth + k_of_slice;
    Fragment f;
#pragma unroll
    for (int g = 0; g < c.tn / kColumns; ++g) f.b[g] = load<kColumns>(stage + c.bk * pitch_a(c) + k * pitch_b(c) + column(g * kColumns));
#pragma unroll
    for (int g = 0; g < c.tm / kRows; ++g) f.a[g] = load<kRows>(stage + k * pitch_a(c) + row(g * kRows));
    return f;
  }

  /// Goes back and forth along the rows, so that adjacent instructions share an operand.
  HONE_DEVICE void add(const Fragment& f) {
#pragma unroll
    for (int i = 0; i < c.tm; ++i) {
#pragma unroll
      for (int step = 0; step < c.tn; ++step) {
        const int j = i % 2 == 0 ? step : c.tn - 1 - step;
        values[i][j] = fmaf(f.a[i / kRows][i % kRows], f.b[j / kColumns][j % kColumns], values[i][j]);
      }
    }
  }

  /// Calls visit(row, column, word) for this thread's sums, words of four of a row.
  template <class Visit> HONE_DEVICE void visit(Visit visit) const {
#pragma unroll
    for (int i = 0; i < c.tm; ++i) {
#pragma unroll
      for (int j = 0; j < c.tn; j += 4) {
        visit(row(i), column(j), Vector<float, 4>{values[i][j], values[i][j + 1], values[i][j + 2], values[i][j + 3]});
      }
    }
  }

  /// The same with the sums over all slices and all blocks of a cluster, reduced in the shared memory of the stages, which are free by
  /// then. Each block visits its part of the tile. It loads several words at once to hide the latency of distributed shared memory.
  template <class Visit> HONE_DEVICE void join(float* shared, int rank, Visit visit_joined) const {
    constexpr int kTile = c.bm * c.bn, kParts = c.cluster * c.slices, kStride = 4 * c.cluster * threads_of(c);
    constexpr int kAtOnce = max_of(1, min_of(8 / kParts, kTile / kStride));
    visit([&](int row, int column, const auto& word) { store(shared + slice * kTile + row * c.bn + column, word); });
    cluster_barrier<c.cluster>();
    for (int first = (rank * threads_of(c) + (int)threadIdx.x) * 4; first < kTile; first += kAtOnce * kStride) {
      Vector<float, 4> words[kAtOnce][kParts];
#pragma unroll
      for (int w = 0; w < kAtOnce; ++w) {
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
          const int i = first + w * kStride;
          if (i < kTile) words[w][part] = read_remote<c.cluster>(shared + part % c.slices * kTile + i, part / c.slices);
        }
      }
#pragma unroll
      for (int w = 0; w < kAtOnce; ++w) {
        const int i = first + w * kStride;
        if (i >= kTile) continue;
        Vector<float, 4> sum = words[w][0];
#pragma unroll
        for (int part = 1; part < kParts; ++part) {
#pragma unroll
          for (int e = 0; e < 4; ++e) sum[e] += words[w][part][e];
        }
        visit_joined(i / c.bn, i % c.bn, sum);
      }
    }
    if (c.cluster > 1 || c.stream_k) cluster_barrier<c.cluster>();  // no block may end, or begin another tile, while others read
  }
};

/// Adds up `steps` steps. Registers load the next tiles while the present ones are used.
template <class T, Config c> HONE_DEVICE void accumulate(Loader<T, c>& loader, Sums<c>& sums, float* shared, int steps, bool active) {
  float *present = shared, *next = shared + (c.stages - 1) * stage_floats(c);
  loader.fetch();
  loader.put(present);
  __syncthreads();
  for (int s = 1; s <= steps; ++s) {
    if (s < steps) loader.fetch();
    if (!c.skip || active) {
      typename Sums<c>::Fragment now = sums.read(present, 0);
#pragma unroll
      for (int k = 0; k < Sums<c>::kDepth; ++k) {
        typename Sums<c>::Fragment after;
        if (k + 1 < Sums<c>::kDepth) after = sums.read(present, k + 1);
        sums.add(now);
        now = after;
      }
    }
    if (c.stages == 1) __syncthreads();  // the next tile overwrites the only stage
    if (s < steps) loader.put(next);
    __syncthreads();
    float* const swap = present;
    present = next;
    next = swap;
  }
}

/// The same with cp.async: stages - 1 tiles are on their way at any time, without registers. A step consists of chunks, so that the loop's
/// code fits the instruction cache. The first fragment of a chunk is read before the last one of the previous chunk is used, so that no
/// wait for shared memory follows a barrier.
template <class T, Config c> HONE_DEVICE void accumulate_async(Loader<T, c>& loader, Sums<c>& sums, float* shared, int steps, bool active) {
#pragma unroll
  for (int s = 0; s < c.stages - 1; ++s) loader.start(shared + s * stage_floats(c));
  cp_async_wait_group<c.stages - 2>();
  __syncthreads();
  typename Sums<c>::Fragment now;
  if (!c.skip || active) now = sums.read(shared, 0);
  constexpr int kChunk = min_of(Sums<c>::kDepth, 1024 / (c.tm * c.tn)), kChunks = Sums<c>::kDepth / kChunk;
  constexpr int kLast = (c.stages - 1) * stage_floats(c);
  int present = 0, free = kLast;  // where the stages begin
  int first = 0;                  // k where the chunk begins
#pragma unroll 1
  for (int chunk = 0; chunk < steps * kChunks; ++chunk) {
    const float* stage = shared + present;
    if (kChunks == 1 || first == 0) {
      loader.start(shared + free);
      free = present;
    }
    if (!c.skip || active) {
#pragma unroll
      for (int k = 0; k + 1 < kChunk; ++k) {
        const typename Sums<c>::Fragment after = sums.read(stage, first + k + 1);
        sums.add(now);
        now = after;
      }
    }
    first += kChunk;
    if (kChunks == 1 || first == Sums<c>::kDepth) {
      first = 0;
      present = present == kLast ? 0 : present + stage_floats(c);
      cp_async_wait_group<c.stages - 2>();
      __syncthreads();  // all threads' copies of the next stage have arrived, and all have read this stage
    }
    if (!c.skip || active) {
      const typename Sums<c>::Fragment after = sums.read(shared + present, first);  // unused behind the last step
      sums.add(now);
      now = after;
    }
  }
}
