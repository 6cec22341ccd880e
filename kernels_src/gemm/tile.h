#pragma once
// Loads the tiles of an operand into shared memory, where they lie as floats, k by k: element (k, row) at k * kPitch + row.

/// Starts copying `count` floats into shared memory; zeros unless `inside`. L2 fetches whole lines: the next steps use them.
template <int count> HONE_DEVICE void copy_async(float* to, const float* from, bool inside) {
#if defined(__CUDACC__)
  const unsigned at = (unsigned)__cvta_generic_to_shared(to);
  const int bytes = inside ? count * 4 : 0;  // the hardware fills the rest with zeros
  if constexpr (count == 4) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(count * 4), "r"(bytes) : "memory");
  }
#else
  for (int e = 0; e < count; ++e) to[e] = inside ? from[e] : 0.0f;
#endif
}

/// Closes the group of copies started since the last call.
HONE_DEVICE void cp_async_commit_group() {
#if defined(__CUDACC__)
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits for all groups but the newest `pending`.
template <int pending> HONE_DEVICE void cp_async_wait_group() {
#if defined(__CUDACC__)
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
}

/// A tile of `rows` x bk. In memory it consists of lines: one for each row (`k_major`: neighbours differ in k), or one for each k. A
/// thread's words are in as few lines as possible, because each line takes an address in every step; within a line the distances are
/// constants.
template <class T, Config c, int rows, bool k_major> struct Tile {
  static constexpr int kThreads = threads_of(c), kPitch = pitch_of(c, rows, k_major), kVec = k_major ? k_major_vec(c) : c.vec;
  static constexpr int kWords = (k_major ? c.bk : rows) / kVec, kLines = k_major ? rows : c.bk;  // words of a line, lines
  static constexpr int kLanes = k_major ? k_major_lanes(c, rows) : min_of(kWords, max_of(1, kThreads / c.bk));  // threads along a line
  static constexpr int kStride = kThreads / kLanes;  // lines that all threads together load at once
  static constexpr int kAlong = kWords / kLanes, kDown = ceil_div(kLines, kStride);
  /// Whether rows outside of the matrix are the last row.
  static constexpr bool kLastAgain = k_major && c.read_on;

  const T* at[kDown];  // this thread's first word in each of its lines, in the next step
  long step;           // elements from a step to the next
  int rows_inside;     // rows of the tile that lie in the matrix
  Vector<T, kVec> words[kDown][kAlong];

  /// Points at the tile that begins at `row` and k of an operand of `all_rows` rows, whose lines are `line_length` apart.
  HONE_DEVICE void seek(const T* operand, long row, long k, long all_rows, long line_length) {
    const T* first = operand + (k_major ? row * line_length + k : k * line_length + row) + (int)threadIdx.x % kLanes * kVec;
#pragma unroll
    for (int j = 0; j < kDown; ++j) at[j] = first + (kLastAgain ? min_of((long)line(j), all_rows - 1 - row) : (long)line(j)) * line_length;
    step = k_major ? c.bk : c.bk * line_length;
    rows_inside = (int)min_of(all_rows - row, (long)rows);
  }

  static HONE_DEVICE int line(int j) { return (int)threadIdx.x / kLanes + j * kStride; }
  static HONE_DEVICE int along(int i) { return ((int)threadIdx.x % kLanes + i * kLanes) * kVec; }
  static HONE_DEVICE int row(int j, int i) { return k_major ? line(j) : along(i); }
  static HONE_DEVICE int k(int j, int i) { return k_major ? along(i) : line(j); }
  /// Whether this thread has a j-th line: small tiles have fewer words than threads.
  static HONE_DEVICE bool exists(int j) { return kLines % kStride == 0 || line(j) < kLines; }
  /// Whether a word lies in the matrix, with `k_left` of k left. Lines are whole words, so it does as a whole or not at all.
  HONE_DEVICE bool inside(int j, int i, int k_left) const { return (kLastAgain || row(j, i) < rows_inside) && k(j, i) < k_left; }

  /// Lines behind a line of the tile into which a read of all its rows would reach; of a line shorter than the tile, more than there are.
  HONE_DEVICE int lines_beyond() const {
    return !c.read_on || k_major || rows_inside == rows ? 0 : step >= (long)c.bk * rows ? 1 : 1 << 30;
  }

  HONE_DEVICE void advance() {
#pragma unroll
    for (int j = 0; j < kDown; ++j) at[j] += step;
  }

  /// The places of this thread's words: the first one differs between threads, the others are at constant distances from it.
  static HONE_DEVICE int first_slot() { return k(0, 0) * kPitch + row(0, 0); }
  static HONE_DEVICE constexpr int slot(int j, int i) {
    return k_major ? i * kLanes * kVec * kPitch + j * kStride : j * kStride * kPitch + i * kLanes * kVec;
  }

  /// Starts copying the next step's tile. kWhole: all that it reads lies in the matrix.
  template <bool kWhole> HONE_DEVICE void start(float* tile, int k_left) const {
    float* const first = tile + first_slot();
#pragma unroll
    for (int j = 0; j < kDown; ++j) {
#pragma unroll
      for (int i = 0; i < kAlong; ++i) {
        if (exists(j)) copy_async<kVec>(first + slot(j, i), at[j] + i * kLanes * kVec, kWhole || inside(j, i, k_left));
      }
    }
  }

  /// Reads the next step's tile into registers.
  template <bool kWhole> HONE_DEVICE void fetch(int k_left) {
#pragma unroll
    for (int j = 0; j < kDown; ++j) {
#pragma unroll
      for (int i = 0; i < kAlong; ++i) {
        if (exists(j) && (kWhole || inside(j, i, k_left))) {
          words[j][i] = load<kVec>(at[j] + i * kLanes * kVec);
        } else {
#pragma unroll
          for (int e = 0; e < kVec; ++e) words[j][i][e] = T(0.0f);
        }
      }
    }
  }

  /// Writes what fetch read.
  HONE_DEVICE void put(float* tile) const {
    constexpr int kWidth = k_major ? 1 : min_of(kVec, 4);
    float* const to = tile + first_slot();
#pragma unroll
    for (int j = 0; j < kDown; ++j) {
      if (!exists(j)) continue;
#pragma unroll
      for (int i = 0; i < kAlong; ++i) {
#pragma unroll
        for (int first = 0; first < kVec; first += kWidth) {
          Vector<float, kWidth> floats;
#pragma unroll
          for (int e = 0; e < kWidth; ++e) floats[e] = (float)words[j][i][first + e];
          store(to + slot(j, i) + first * (k_major ? kPitch : 1), floats);
        }
      }
    }
  }
};

/// Both operands' tiles, step after step.
template <class T, Config c> struct Loader {
  Tile<T, c, c.bm, a_is_k_major()> a;
  Tile<T, c, c.bn, b_is_k_major()> b;
  int left;         // of k, from the next step on, less the lines beyond
  bool rows_whole;  // all rows of both tiles lie in the matrices

  /// Lines into which reads of whole tiles reach behind those of a step: they must be there.
  HONE_DEVICE int lines_beyond() const { return max_of(a.lines_beyond(), b.lines_beyond()); }
  HONE_DEVICE bool whole() const { return (c.read_on || rows_whole) && left >= c.bk; }
  HONE_DEVICE void advance() {
    a.advance();
    b.advance();
    left -= c.bk;
  }

  /// Starts copying the next step, or nothing behind the last one, and closes the group.
  HONE_DEVICE void start(float* stage) {
    if (whole()) {
      a.template start<true>(stage, c.bk);
      b.template start<true>(stage + c.bk * a.kPitch, c.bk);
    } else if (const int k_left = left + lines_beyond(); k_left > 0) {
      a.template start<false>(stage, k_left);
      b.template start<false>(stage + c.bk * a.kPitch, k_left);
    }
    cp_async_commit_group();
    advance();
  }

  HONE_DEVICE void fetch() {
    if (whole()) {
      a.template fetch<true>(c.bk);
      b.template fetch<true>(c.bk);
    } else {
      a.template fetch<false>(left + lines_beyond());
      b.template fetch<false>(left + lines_beyond());
    }
    advance();
  }
  HONE_DEVICE void put(float* stage) const {
    a.put(stage);
    b.put(stage + c.bk * a.kPitch);
  }
};
