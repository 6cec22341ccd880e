#pragma once
// scan: a block that stays. One thread moves tiles into and out of shared memory, one warp tells their sums, and one warp of all blocks
// adds up what tiles told; the others sum up a tile while they wait for what is before the last one. (Where every block looked back for
// itself, their looks got in each other's way: 50 ns a tile on an H200, whatever its size.) scan.cu includes this in its middle.

/// A place for a tile in shared memory. Each use of it is a phase of its arrivals.
struct Stage {
  Arrival loaded, summed, known, written;  // the tile; the sums of its warps; those before them; the results
  long tile;                               // behind the last, none
  float of_warp[32];                       // sum of each warp's elements, then of all elements before them
};

/// The stages in turn.
template <int stages> struct Turn {
  int stage = 0;
  unsigned phase = 0;

  HONE_DEVICE void next() {
    stage = stage + 1 == stages ? 0 : stage + 1;
    phase ^= stage == 0;
  }
};

template <class T, Config c> struct Tiles {
  static constexpr int kVec = vec<T>(c), kWarps = c.block / 32;
  static constexpr long kTile = tile_elements<T>(c);
  using TileWord = Word<T, kVec>;
  using StageTurn = Turn<c.stages>;
  const T* x;
  T* y;
  long n;
  volatile Told* told;
  int* started;
  T* elements;  // of all stages
  Stage* stages;

  /// Of a tile, what bulk copies move: whole words. The few elements behind the last word of x are the threads' own.
  HONE_DEVICE unsigned bytes(long tile) const { return (unsigned)(min_of(kTile, n - tile * kTile) / kVec * 16); }
  HONE_DEVICE bool over(long tile) const { return tile * kTile >= n; }

  HONE_DEVICE void fetch(int stage, long tile) const {
    stages[stage].tile = tile;
    const unsigned wanted = over(tile) ? 0 : bytes(tile);
    expect_bytes(&stages[stage].loaded, wanted);
    if (wanted > 0) bulk_load<c.stream_load>(elements + stage * kTile, x + tile * kTile, wanted, &stages[stage].loaded);
  }

  /// One thread has tiles copied into the stages, and out of them. Their numbers are taken in the order in which the block works, so the
  /// earliest unfinished tile never waits; each is taken early, for it is a round trip to memory.
  HONE_DEVICE void move() const {
    long next = stages[0].tile;
    for (int s = 0; s < c.stages; ++s) {
      fetch(s, next);
      next = atomicAdd(started, 1);
    }
    for (StageTurn at; !over(stages[at.stage].tile); at.next()) {
      const long tile = stages[at.stage].tile;
      await_arrival(&stages[at.stage].written, at.phase);
      if (bytes(tile) > 0) bulk_store<c.stream_store>(y + tile * kTile, elements + at.stage * kTile, bytes(tile));
      bulk_stores_left<0>();
      fetch(at.stage, next);
      next = atomicAdd(started, 1);
    }
  }

  /// One warp of all blocks finds out what is before each tile, in order, and tells it: a block looks at its own tile alone.
  HONE_DEVICE void add_tiles(long tiles) const {
    const int lane = (int)(threadIdx.x % 32);
    double before = 0;  // the tile `first`, the first that does not know
    for (long first = 0; first < tiles;) {
      const long mine = first + lane * c.looks;
      Told seen[c.looks];
#pragma unroll
      for (int j = 0; j < c.looks; ++j) seen[j] = mine + j < tiles ? told[mine + j] : 0;
      int ready = 0;  // of this lane's tiles, in order
      float sum = 0;
#pragma unroll
      for (int j = 0; j < c.looks; ++j) {
        if (ready < j || what(seen[j]) != kOfTile) continue;
        ++ready;
        sum += sum_of(seen[j]);
      }
      const unsigned some_left = __ballot_sync(0xffffffffu, ready < c.looks);
      const int last = some_left == 0 ? 31 : __ffs((int)some_left) - 1;  // the lane behind whose tiles nothing is to be told yet
      const float through = scan_lanes(lane <= last ? sum : 0.0f), lanes_before = __shfl_up_sync(0xffffffffu, through, 1);
      double here = lane == 0 ? before : before + lanes_before;
#pragma unroll
      for (int j = 0; j < c.looks; ++j) {
        if (lane > last || j >= ready) continue;
        told[mine + j] = tell(kBefore, (float)here);
        here += sum_of(seen[j]);
      }
      const int known = last * c.looks + __shfl_sync(0xffffffffu, ready, last);
      before += __shfl_sync(0xffffffffu, through, 31);
      first += known;
      if (known == 0) wait_a_little(c.pause);
    }
  }

  /// One warp tells each tile's sum, and learns what is before it and before each warp's elements of it.
  HONE_DEVICE void look() const {
    const int lane = (int)(threadIdx.x % 32);
    for (StageTurn at;; at.next()) {
      Stage& stage = stages[at.stage];
      await_arrival(&stage.loaded, at.phase);
      if (over(stage.tile)) return;
      await_arrival(&stage.summed, at.phase);
      const float through = scan_lanes(lane < kWarps ? stage.of_warp[lane] : 0.0f), before = __shfl_up_sync(0xffffffffu, through, 1);
      float before_tile = 0;
      if (lane == 31) {
        told[stage.tile] = tell(kOfTile, through);
        Told seen = told[stage.tile];
        for (; what(seen) != kBefore; seen = told[stage.tile]) wait_a_little(c.pause);
        before_tile = sum_of(seen);
      }
      before_tile = __shfl_sync(0xffffffffu, before_tile, 31);
      stage.of_warp[lane] = lane == 0 ? before_tile : before_tile + before;
      __syncwarp();
      if (lane == 0) arrive(&stage.known);
    }
  }

  /// Sums up what this thread has of a tile: value[k][e] becomes the sum up to it.
  HONE_DEVICE float sum_up(int stage, float (&value)[c.held][kVec]) const {
    const T* const here = elements + stage * kTile;
    const long left = n - stages[stage].tile * kTile;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < c.held; ++k) {
      const long at = ((long)threadIdx.x * c.held + k) * kVec;
      const TileWord word = at + kVec <= left ? load_word<T, kVec>(here + at) : TileWord{};
#pragma unroll
      for (int e = 0; e < kVec; ++e) value[k][e] = word[e];
      if (at < left && at + kVec > left) {
        for (int e = 0; e < kVec; ++e) value[k][e] = at + e < left ? (float)x[n - left + at + e] : 0.0f;
      }
#pragma unroll
      for (int e = 1; e < kVec; ++e) value[k][e] += value[k][e - 1];
#pragma unroll
      for (int e = 0; e < kVec; ++e) value[k][e] += sum;
      sum = value[k][kVec - 1];
    }
    return sum;
  }

  HONE_DEVICE void put(int stage, float (&value)[c.held][kVec], float before) const {
    T* const here = elements + stage * kTile;
    const long left = n - stages[stage].tile * kTile;
#pragma unroll
    for (int k = 0; k < c.held; ++k) {
      const long at = ((long)threadIdx.x * c.held + k) * kVec;
#pragma unroll
      for (int e = 0; e < kVec; ++e) value[k][e] += before;
      store(here + at, __builtin_bit_cast(Vector<T, kVec>, pack<T>(value[k])));
      if (at < left && at + kVec > left) {
        for (int e = 0; e < kVec && at + e < left; ++e) y[n - left + at + e] = T(value[k][e]);
      }
    }
  }

  /// The other threads: the sums of a tile are told before the results of the one before it are written, so that nobody waits for a look
  /// back that is under way. A tile is read twice from shared memory, which has the time.
  HONE_DEVICE void add_up() const {
    const int warp = (int)(threadIdx.x / 32), lane = (int)(threadIdx.x % 32);
    StageTurn last;
    float lanes_before = 0;
    for (StageTurn at;; at.next()) {
      Stage& stage = stages[at.stage];
      await_arrival(&stage.loaded, at.phase);
      const bool done = over(stage.tile), first = at.stage == last.stage && at.phase == last.phase;
      float value[c.held][kVec], through = 0;
      if (!done) {
        through = scan_lanes(sum_up(at.stage, value));
        if (lane == 31) {
          stage.of_warp[warp] = through;
          arrive(&stage.summed);
        }
      }
      if (!first) {
        sum_up(last.stage, value);
        await_arrival(&stages[last.stage].known, last.phase);
        put(last.stage, value, stages[last.stage].of_warp[warp] + lanes_before);
        fence_for_bulk();
        __syncwarp();
        if (lane == 0) arrive(&stages[last.stage].written);
      }
      if (done) return;
      const float before = __shfl_up_sync(0xffffffffu, through, 1);
      lanes_before = lane == 0 ? 0.0f : before;
      last = at;
    }
  }

  HONE_DEVICE void run() const {
    if (threadIdx.x == 0) {
      for (int s = 0; s < c.stages; ++s) {
        prepare_arrival(&stages[s].loaded);
        prepare_arrival(&stages[s].summed, kWarps);
        prepare_arrival(&stages[s].known);
        prepare_arrival(&stages[s].written, kWarps);
      }
      stages[0].tile = atomicAdd(started, 1);
    }
    __syncthreads();
    if (threadIdx.x < c.block) {
      add_up();
    } else if (threadIdx.x < c.block + 32) {
      look();
    } else if (threadIdx.x == c.block + 32) {
      move();
    } else if (threadIdx.x >= c.block + 64 && stages[0].tile == 0) {  // it stays so until this warp has worked
      add_tiles(ceil_div(n, kTile));
    }
  }
};
