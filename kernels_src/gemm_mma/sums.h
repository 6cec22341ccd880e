#pragma once
// The sums of a warp: their layout in its lanes, their reduction over a cluster, and their stores.

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
/// Whether rows of out are whole pairs: they are as long as those of b unless b is k-major.
template <Config c> HONE_DEVICE bool whole_pairs(Problem p) { return c.vec > 1 && (!b_is_k_major() || p.n % 2 == 0); }
template <Config c> HONE_DEVICE bool whole_words(Problem p) { return c.vec >= 4 && (!b_is_k_major() || p.n % 4 == 0); }

/// The blocks of a cluster reduce their shares of k: each block adds up some of the tile's rows. All blocks write to its shared memory
/// behind the stages, where an mbarrier counts the bytes.
template <Config c> struct ClusterSums {
  static constexpr int kRows = c.bm / c.cluster;
  unsigned sums, barrier;

  explicit HONE_DEVICE ClusterSums(unsigned shared) : sums(shared + c.stages * stage_bytes(c)), barrier(sums + c.bm * pitch_of(c) * 4) {}

  /// Other blocks may write when all blocks have called this and await_others has returned.
  HONE_DEVICE void prepare() const {
    if (threadIdx.x == 0) {
      hopper::mbarrier_init(barrier, 1);
      hopper::fence_mbarrier_init();
      hopper::mbarrier_arrive_expect_tx(barrier, c.bm * c.bn * 4);
    }
    __syncwarp();
    hopper::cluster_arrive_relaxed();
  }
  HONE_DEVICE void await_others() const { hopper::cluster_wait(); }
  HONE_DEVICE void await_sums() const { hopper::mbarrier_wait(barrier, 0); }

  /// The address of an element of share `block`, in the block that adds up its row.
  HONE_DEVICE unsigned part(int block, int row, int column) const { return sums + ((block * kRows + row) * pitch_of(c) + column) * 4; }
  HONE_DEVICE void send(int block, unsigned place, float x, float y) const {
    hopper::store_remote_async(hopper::map_shared_rank(place, block), x, y, hopper::map_shared_rank(barrier, block));
  }
};

/// One warp's sums: lane l holds rows l / 4 and 8 below, columns l % 4 * 2 and the next, of each 16 x 8 part.
template <class T, Config c> struct Sums {
  static constexpr int kDown = c.wm / 16, kAcross = c.wn / 8;
  int first_row, first_column;  // of the warp, in the block's tile
  float values[kDown][kAcross][4] = {};

  HONE_DEVICE Sums() {
    constexpr int kWarpsAcross = c.bn / c.wn;
    const int warp = (int)threadIdx.x / 32;
    first_row = warp / kWarpsAcross * c.wm;
    first_column = warp % kWarpsAcross * c.wn;
  }

  /// 16 x 16 elements of a; the last two matrices have k from 8 on. In a tile that is not k-major, eight lines are a transposed matrix.
  static HONE_DEVICE void read_a(unsigned (&to)[4], unsigned tile, int row, int k) {
    const int lane = (int)threadIdx.x % 32;
    if constexpr (a_is_k_major()) {
      ldmatrix(to, tile + place_in_tile<c.bk / 8>(row + lane % 16, k / 8 + lane / 16));
    } else {
      ldmatrix_trans(to, tile + place_in_tile<c.bm / 8>(k + lane / 16 * 8 + lane % 8, row / 8 + lane / 8 % 2));
    }
  }
  /// 16 x 16 elements of b; the last two matrices have columns from 8 on.
  static HONE_DEVICE void read_b(unsigned (&to)[4], unsigned tile, int column, int k) {
    const int lane = (int)threadIdx.x % 32;
    if constexpr (b_is_k_major()) {
      ldmatrix(to, tile + place_in_tile<c.bk / 8>(column + lane / 16 * 8 + lane % 8, k / 8 + lane / 8 % 2));
    } else {
      ldmatrix_trans(to, tile + place_in_tile<c.bn / 8>(k + lane % 16, column / 8 + lane / 16));
    }
  }

  HONE_DEVICE void add(unsigned stage) {
#pragma unroll
    for (int k = 0; k < c.bk; k += 16) {
      unsigned a[kDown][4], b[kAcross / 2][4];
#pragma unroll
      for (int i = 0; i < kDown; ++i) read_a(a[i], stage, first_row + i * 16, k);
#pragma unroll
      for (int j = 0; j < kAcross / 2; ++j) read_b(b[j], stage + c.bm * c.bk * 2, first_column + j * 16, k);
#pragma unroll
      for (int i = 0; i < kDown; ++i) {
#pragma unroll
        for (int step = 0; step < kAcross; ++step) {
          const int j = i % 2 == 0 ? step : kAcross - 1 - step;  // back and forth: neighbouring products share an operand
          mma<T>(values[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
  }

  /// Calls visit(row, column, pair) for each two neighbouring sums whose first one lies in the matrix.
  template <class Visit> HONE_DEVICE void visit(const Place& at, Problem p, Visit visit) const {
    const int lane = (int)threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < kDown * 2; ++i) {
      const long row = at.row + first_row + i * 8 + lane / 4;
      if (row >= p.m) continue;
#pragma unroll
      for (int j = 0; j < kAcross; ++j) {
        const long column = at.column + first_column + j * 8 + lane % 4 * 2;
        if (column < p.n) visit(row, column, Vector<float, 2>{values[i / 2][j][i % 2 * 2], values[i / 2][j][i % 2 * 2 + 1]});
      }
    }
  }

  /// Reduces the sums of all blocks of the cluster: each block receives the sums of some rows. (A cluster barrier with a release would wait
  /// for all accesses to memory that are under way; asynchronous stores that an mbarrier counts do not.)
  HONE_DEVICE void join(T* out, const Finish<T>& finish, const Place& at, Problem p, const ClusterSums<c>& cluster_sums) const {
    const int lane = (int)threadIdx.x % 32, rank = (int)hopper::cluster_rank();
    constexpr int kRows = ClusterSums<c>::kRows;
    cluster_sums.await_others();
#pragma unroll
    for (int i = 0; i < kDown * 2; ++i) {
      const int row = first_row + i * 8 + lane / 4;
#pragma unroll
      for (int j = 0; j < kAcross; ++j) {
        const int column = first_column + j * 8 + lane % 4 * 2;
        cluster_sums.send(row / kRows, cluster_sums.part(rank, row % kRows, column), values[i / 2][j][i % 2 * 2], values[i / 2][j][i % 2 * 2 + 1]);
      }
    }
    cluster_sums.await_sums();
    for (int i = (int)threadIdx.x * 4; i < kRows * c.bn; i += threads_of(c) * 4) {
      const int tile_row = i / c.bn, tile_column = i % c.bn;
      const long row = at.row + rank * kRows + tile_row, column = at.column + tile_column;
      if (row >= p.m || column >= p.n) continue;
      Vector<float, 4> sums = {};
#pragma unroll
      for (int block = 0; block < c.cluster; ++block) {
        float part[4];
        load_four(part, cluster_sums.part(block, tile_row, tile_column));
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[e] += part[e];
      }
      if (whole_words<c>(p)) {
        finish.write(out, sums, row, column, p.n);
      } else {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          if (column + e < p.n) finish.template write<1>(out, {sums[e]}, row, column + e, p.n);
        }
      }
    }
  }

  HONE_DEVICE void write(float* to, const Place& at, Problem p) const {
    visit(at, p, [&](long row, long column, const Vector<float, 2>& pair) {
      if (whole_pairs<c>(p)) {
        store(to + row * p.n + column, pair);
      } else {
        to[row * p.n + column] = pair[0];
        if (column + 1 < p.n) to[row * p.n + column + 1] = pair[1];
      }
    });
  }
  HONE_DEVICE void write(T* out, const Finish<T>& finish, const Place& at, Problem p) const {
    visit(at, p, [&](long row, long column, const Vector<float, 2>& pair) {
      if (whole_pairs<c>(p)) {
        finish.write(out, pair, row, column, p.n);
      } else {
        finish.template write<1>(out, {pair[0]}, row, column, p.n);
        if (column + 1 < p.n) finish.template write<1>(out, {pair[1]}, row, column + 1, p.n);
      }
    });
  }
};
#endif
