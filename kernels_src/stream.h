#pragma once
// Blocks that stay while the rows of a matrix stream through their shared memory. A block has the same columns of every row, so what it
// needs of them (weights) is read once and kept in registers; the blocks of a cluster have a row between them, and each tells the others
// what it knows of its part. Telling takes about a microsecond on a busy H200, so blocks add up some rows ahead of the one they finish:
// nobody waits, and reads and writes mix as in a copy.
//
// Three warps beside those that work on elements: one has parts of rows copied into shared memory, as many ahead as there are stages; one
// joins what the warps of the block know of a row and tells every block of the cluster; one joins what the blocks gathered.
//
// A Config has, beside the fields that rows.h names,
//   held, stages, ahead, spare, min_blocks
#include "rows.h"

constexpr int kHelperThreads = 96;

/// Clusters (blocks, where a cluster is one block) that stay: as many as are resident, with as many rows each. A cluster lies within a
/// group of multiprocessors, so there may be room for fewer than the multiprocessors make up: an H200 had room for 7 clusters of 16 and
/// for 15 of 8.
HONE_BOTH constexpr long streams_of(long rows, int cluster, int reserved, int blocks_each, Device d) {
  const long resident = max_of((d.multiprocessors / cluster - reserved) * blocks_each, 1L);
  return ceil_div(rows, ceil_div(rows, resident));
}

/// A place for a row's part in shared memory, and the phase of its arrivals; places are taken in turn.
template <int stages> struct PipelineState {
  int stage = 0;
  unsigned phase = 0;

  HONE_DEVICE void next() {
    stage = stage + 1 == stages ? 0 : stage + 1;
    phase ^= stage == 0;
  }
};

/// What is ready of a row, and then what follows from it (Result).
template <class Part, class Result, int warps, int blocks> struct RowSlot {
  Mbarrier summed, gathered, ready;
  Part of_warp[warps];
  PartWords<Part> of_block[blocks];
  Result result;
};

struct RowStage {
  Mbarrier loaded, read;
};

template <class T, auto c, class Part, class Result, int inputs> struct RowStream {
  static constexpr int kVec = c.bytes / (int)sizeof(T), kWarps = c.block / 32, kWords = c.items_per_thread / kVec * c.block;
  static constexpr long kPart = (long)c.items_per_thread * c.block;  // elements of a stage, for each input
  using RowState = PipelineState<c.stages>;
  using Slot = RowSlot<Part, Result, kWarps, c.cluster>;
  /// Warps add up row q + ahead before they finish row q. So a block that tells of row q has finished q - ahead - 1, of which every block
  /// gathered after its warps had finished q - 2 * ahead - 2: nothing of that row is needed any more.
  static constexpr int kSlots = 2 * c.lookahead + 2;
  using SlotState = PipelineState<kSlots>;
  struct Shared {
    RowStage stage[c.stages];
    Slot slot[kSlots];
  };
  const Rows<T, c, inputs>& of;  // whose shared memory has the stages
  Shared& shared;

  T* const elements = of.shared;
  const unsigned step = gridDim.x / c.cluster, first = blockIdx.x / c.cluster;       // rows of this cluster: from the first on, by steps
  const int rows = (int)(((unsigned)of.rows - first + step - 1) / step);             // 32 bits are enough
  const int rank = c.cluster == 1 ? 0 : (int)(blockIdx.x % c.cluster);
  const int share = (int)ceil_div((unsigned)(of.cols / kVec), (unsigned)c.cluster);  // words of a block's part
  const long begin = min_of((long)rank * share * kVec, of.cols);                     // its first column
  const int words = (int)min_of((long)share, (of.cols - begin) / kVec);

  HONE_DEVICE long row_of(int q) const { return first + (long)q * step; }

  HONE_DEVICE void fetch(int q, int stage) const {
    Mbarrier* loaded = &shared.stage[stage].loaded;
    const unsigned bytes = (unsigned)(words * c.bytes);
    mbarrier_arrive_expect_tx(loaded, bytes * inputs);
    if (bytes == 0) return;
#pragma unroll
    for (int i = 0; i < inputs; ++i) {
      bulk_load<c.stream_load>(elements + (stage * inputs + i) * kPart, of.x[i] + row_of(q) * of.cols + begin, bytes, loaded);
    }
  }

  /// This thread's words of the row that lies in a stage. `full`: no thread is without one of its words, and the compiler knows.
  template <bool full> HONE_DEVICE Row<T, c> row(int q, int stage, int input) const {
    const long start = row_of(q) * of.cols;
    const int lane = (int)threadIdx.x;
    const T* from = elements + (stage * inputs + input) * kPart + lane * kVec;
    return {row_of(q), start, start + begin + lane * kVec, 0, 0, 0, lane, full ? kWords : words - lane, from};
  }

  /// The first rows are under way before anything else is done.
  HONE_DEVICE void prepare() const {
    for (RowStage& stage : shared.stage) mbarrier_init(&stage.loaded);
#pragma unroll
    for (int i = 0; i < inputs; ++i) prefetch_l2(of.x[i] + row_of(0) * of.cols + begin, (long)words * c.bytes);
    grid_dependency_wait();
#pragma unroll 1
    for (int q = 0; q < c.stages && q < rows; ++q) fetch(q, q);
    for (RowStage& stage : shared.stage) mbarrier_init(&stage.read, kWarps);
    for (Slot& slot : shared.slot) {
      mbarrier_init(&slot.summed, kWarps);
      mbarrier_init(&slot.gathered);
      mbarrier_init(&slot.ready);
    }
  }

  HONE_DEVICE void fetch_rest() const {
    RowState at;
#pragma unroll 1
    for (int q = c.stages; q < rows; ++q, at.next()) {
      mbarrier_wait(&shared.stage[at.stage].read, at.phase);
      fetch(q, at.stage);
    }
  }

  HONE_DEVICE void broadcast_parts() const {
    const int lane = (int)(threadIdx.x % 32);
    SlotState at;
#pragma unroll 1
    for (int q = 0; q < rows; ++q, at.next()) {
      Slot& slot = shared.slot[at.stage];
      mbarrier_wait(&slot.summed, at.phase);
      const Part part = reduce_lanes<kWarps>(slot.of_warp[lane % kWarps]);
      if constexpr (c.cluster == 1) {
        if (lane == 0) {
          slot.of_block[0] = __builtin_bit_cast(PartWords<Part>, part);
          mbarrier_arrive(&slot.gathered);
        }
      } else {
        const PartWords<Part> own = __builtin_bit_cast(PartWords<Part>, part);
#pragma unroll
        for (int i = 0; i < (int)(sizeof(Part) / sizeof(float)); ++i) {
          if (lane < c.cluster) store_remote_async(&slot.of_block[rank].word[i], lane, own.word[i], &slot.gathered);
        }
        if (lane == 0) mbarrier_arrive_expect_tx(&slot.gathered, c.cluster * (unsigned)sizeof(Part));
      }
    }
  }

  template <class ResultOf> HONE_DEVICE void combine_parts(ResultOf result_of) const {
    const int lane = (int)(threadIdx.x % 32);
    SlotState at;
#pragma unroll 1
    for (int q = 0; q < rows; ++q, at.next()) {
      Slot& slot = shared.slot[at.stage];
      mbarrier_wait(&slot.gathered, at.phase);
      const Part whole = reduce_lanes<c.cluster>(__builtin_bit_cast(Part, slot.of_block[lane % c.cluster]));
      if (lane == 0) {
        slot.result = result_of(whole);
        mbarrier_arrive(&slot.ready);
      }
    }
  }

  template <bool full, class PartOf, class Write> HONE_DEVICE void work(PartOf part_of, Write write) const {
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    RowState adding, finishing;
    SlotState added, finished;
#pragma unroll 1
    for (int q = 0; q < rows + c.lookahead; ++q) {
      if (q < rows) {
        Slot& slot = shared.slot[added.stage];
        mbarrier_wait(&shared.stage[adding.stage].loaded, adding.phase);
        const Part part = reduce_lanes<32>(part_of(row<full>(q, adding.stage, 0), row<full>(q, adding.stage, inputs - 1)));
        if (lane == 0) {
          slot.of_warp[warp] = part;
          mbarrier_arrive(&slot.summed);
        }
        adding.next();
        added.next();
      }
      if (q < c.lookahead) continue;
      mbarrier_wait(&shared.slot[finished.stage].ready, finished.phase);
      const int done = q - c.lookahead;
      write(row<full>(done, finishing.stage, 0), row<full>(done, finishing.stage, inputs - 1), shared.slot[finished.stage].result);
      __syncwarp();
      if (lane == 0) mbarrier_arrive(&shared.stage[finishing.stage].read);
      finishing.next();
      finished.next();
    }
  }

  /// Runs part_of(row, other), the part of one thread; result_of(whole); and write(row, other, result). `other` is the row in the last
  /// input. prepare_work comes first, while the first rows are under way.
  template <class Prepare, class PartOf, class ResultOf, class Write>
  HONE_DEVICE void run(Prepare prepare_work, PartOf part_of, ResultOf result_of, Write write) const {
    const int helper = (int)threadIdx.x - c.block;
    if (helper == 0) prepare();
    if (helper < 0) {
      grid_dependency_sync();
      prepare_work(row<false>(0, 0, 0));
    }
    __syncthreads();
    if constexpr (c.cluster > 1) {
      cluster_arrive_relaxed();  // preparing released what it wrote; a release here would wait for all loads that are under way
      cluster_wait();
    }
    if (helper < 0) {
      words == kWords ? work<true>(part_of, write) : work<false>(part_of, write);
    } else if (helper == 0) {
      fetch_rest();
    } else if (helper >= 64) {
      combine_parts(result_of);
    } else if (helper >= 32) {
      broadcast_parts();
    }
  }
};
