#pragma once
// Persistent blocks: the rows of a matrix stream through their shared memory. A block has the same columns of every row, so it loads what
// belongs to columns (weights) once and keeps it in registers. The blocks of a cluster share a row, and each sends the partial result of
// its part to the others. That exchange takes about a microsecond on a busy H200, so blocks reduce `lookahead` rows ahead of the row they
// write: no warp waits, and reads and writes mix as in a copy.
//
// Three warps assist those that work on elements. The first copies parts of rows into shared memory, `stages` rows ahead. The second
// combines the partial results of the block's warps and sends them to every block of the cluster. The third combines what the blocks sent.
//
// Beside the fields that rows.h names, a Config has
//   items_per_thread, stages, lookahead, reserved_clusters, min_blocks
#include "rows.h"

constexpr int kHelperThreads = 96;

/// Persistent clusters (blocks, where a cluster is one block): as many as are resident, with about the same number of rows each. A cluster
/// lies within a group of multiprocessors (GPC), so fewer may be resident than the number of multiprocessors suggests: an H200 had room for
/// 7 clusters of 16 blocks and for 15 of 8. `reserved` clusters are left out for that.
HONE_BOTH constexpr long streams_of(long rows, int cluster, int reserved, int blocks_each, Device d) {
  const long resident = max_of((d.multiprocessors / cluster - reserved) * blocks_each, 1L);
  return ceil_div(rows, ceil_div(rows, resident));
}

/// A stage of a ring of stages, and the parity of its mbarriers' phase.
template <int stages> struct PipelineState {
  int stage = 0;
  unsigned phase = 0;

  HONE_DEVICE void next() {
    stage = stage + 1 == stages ? 0 : stage + 1;
    phase ^= stage == 0;
  }
};

/// The partial results of a row, and the Result that follows from them.
template <class Part, class Result, int warps, int blocks> struct RowSlot {
  hopper::Mbarrier summed, gathered, ready;
  Part of_warp[warps];
  PartFloats<Part> of_block[blocks];
  Result result;
};

struct RowStage {
  hopper::Mbarrier loaded, read;
};

template <class T, auto c, class Part, class Result, int inputs> struct RowStream {
  static constexpr int kVec = c.bytes / (int)sizeof(T), kWarps = c.block / 32, kPackets = c.items_per_thread / kVec * c.block;
  static constexpr long kPart = (long)c.items_per_thread * c.block;  // elements of a stage, for each input
  using RowState = PipelineState<c.stages>;
  using Slot = RowSlot<Part, Result, kWarps, c.cluster>;
  /// Warps reduce row q + lookahead before they write row q. A block that sends its part of row q has therefore written row q - lookahead -
  /// 1; every block sent its part of that row after its warps had written row q - 2 * lookahead - 2, whose slot is free again.
  static constexpr int kSlots = 2 * c.lookahead + 2;
  using SlotState = PipelineState<kSlots>;
  struct Shared {
    RowStage stage[c.stages];
    Slot slot[kSlots];
  };
  const Rows<T, c, inputs>& of;  // its shared memory holds the stages
  Shared& shared;

  T* const elements = of.shared;
  const unsigned step = gridDim.x / c.cluster, first = blockIdx.x / c.cluster;       // rows of this cluster: first, first + step, ...
  const int rows = (int)(((unsigned)of.rows - first + step - 1) / step);             // 32 bits are enough
  const int rank = c.cluster == 1 ? 0 : (int)(blockIdx.x % c.cluster);
  const int share = (int)ceil_div((unsigned)(of.cols / kVec), (unsigned)c.cluster);  // packets of a block's part
  const long begin = min_of((long)rank * share * kVec, of.cols);                     // its first column
  const int packets = (int)min_of((long)share, (of.cols - begin) / kVec);

  HONE_DEVICE long row_of(int q) const { return first + (long)q * step; }

  HONE_DEVICE void fetch(int q, int stage) const {
    hopper::Mbarrier* loaded = &shared.stage[stage].loaded;
    const unsigned bytes = (unsigned)(packets * c.bytes);
    hopper::mbarrier_arrive_expect_tx(loaded, bytes * inputs);
    if (bytes == 0) return;
#pragma unroll
    for (int i = 0; i < inputs; ++i) {
      hopper::bulk_load<c.stream_load>(elements + (stage * inputs + i) * kPart, of.x[i] + row_of(q) * of.cols + begin, bytes, loaded);
    }
  }

  /// This thread's packets of the row in a stage. `full`: every thread has all its packets, which the compiler then knows.
  template <bool full> HONE_DEVICE Row<T, c> row(int q, int stage, int input) const {
    const long start = row_of(q) * of.cols;
    const int lane = (int)threadIdx.x;
    const T* from = elements + (stage * inputs + input) * kPart + lane * kVec;
    return {row_of(q), start, start + begin + lane * kVec, 0, 0, 0, lane, full ? kPackets : packets - lane, from};
  }

  /// Starts the copies of the first rows before anything else.
  HONE_DEVICE void prepare() const {
    for (RowStage& stage : shared.stage) hopper::mbarrier_init(&stage.loaded);
#pragma unroll
    for (int i = 0; i < inputs; ++i) hopper::prefetch_l2(of.x[i] + row_of(0) * of.cols + begin, (long)packets * c.bytes);
    grid_dependency_wait();
#pragma unroll 1
    for (int q = 0; q < c.stages && q < rows; ++q) fetch(q, q);
    for (RowStage& stage : shared.stage) hopper::mbarrier_init(&stage.read, kWarps);
    for (Slot& slot : shared.slot) {
      hopper::mbarrier_init(&slot.summed, kWarps);
      hopper::mbarrier_init(&slot.gathered);
      hopper::mbarrier_init(&slot.ready);
    }
  }

  HONE_DEVICE void fetch_rest() const {
    RowState at;
#pragma unroll 1
    for (int q = c.stages; q < rows; ++q, at.next()) {
      hopper::mbarrier_wait(&shared.stage[at.stage].read, at.phase);
      fetch(q, at.stage);
    }
  }

  HONE_DEVICE void broadcast_parts() const {
    const int lane = (int)(threadIdx.x % 32);
    SlotState at;
#pragma unroll 1
    for (int q = 0; q < rows; ++q, at.next()) {
      Slot& slot = shared.slot[at.stage];
      hopper::mbarrier_wait(&slot.summed, at.phase);
      const Part part = reduce_lanes<kWarps>(slot.of_warp[lane % kWarps]);
      if constexpr (c.cluster == 1) {
        if (lane == 0) {
          slot.of_block[0] = __builtin_bit_cast(PartFloats<Part>, part);
          hopper::mbarrier_arrive(&slot.gathered);
        }
      } else {
        const PartFloats<Part> own = __builtin_bit_cast(PartFloats<Part>, part);
#pragma unroll
        for (int i = 0; i < (int)(sizeof(Part) / sizeof(float)); ++i) {
          if (lane < c.cluster) hopper::store_remote_async(&slot.of_block[rank].value[i], lane, own.value[i], &slot.gathered);
        }
        if (lane == 0) hopper::mbarrier_arrive_expect_tx(&slot.gathered, c.cluster * (unsigned)sizeof(Part));
      }
    }
  }

  template <class ResultOf> HONE_DEVICE void combine_parts(ResultOf result_of) const {
    const int lane = (int)(threadIdx.x % 32);
    SlotState at;
#pragma unroll 1
    for (int q = 0; q < rows; ++q, at.next()) {
      Slot& slot = shared.slot[at.stage];
      hopper::mbarrier_wait(&slot.gathered, at.phase);
      const Part whole = reduce_lanes<c.cluster>(__builtin_bit_cast(Part, slot.of_block[lane % c.cluster]));
      if (lane == 0) {
        slot.result = result_of(whole);
        hopper::mbarrier_arrive(&slot.ready);
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
        hopper::mbarrier_wait(&shared.stage[adding.stage].loaded, adding.phase);
        const Part part = reduce_lanes<32>(part_of(row<full>(q, adding.stage, 0), row<full>(q, adding.stage, inputs - 1)));
        if (lane == 0) {
          slot.of_warp[warp] = part;
          hopper::mbarrier_arrive(&slot.summed);
        }
        adding.next();
        added.next();
      }
      if (q < c.lookahead) continue;
      hopper::mbarrier_wait(&shared.slot[finished.stage].ready, finished.phase);
      const int done = q - c.lookahead;
      write(row<full>(done, finishing.stage, 0), row<full>(done, finishing.stage, inputs - 1), shared.slot[finished.stage].result);
      __syncwarp();
      if (lane == 0) hopper::mbarrier_arrive(&shared.stage[finishing.stage].read);
      finishing.next();
      finished.next();
    }
  }

  /// Calls part_of(row, other), the part of one thread, result_of(whole) and write(row, other, result) for all rows. `other` is the row in
  /// the last input. prepare_work runs first, while the first rows are under way.
  template <class Prepare, class PartOf, class ResultOf, class Write>
  HONE_DEVICE void run(Prepare prepare_work, PartOf part_of, ResultOf result_of, Write write) const {
    const int helper = (int)threadIdx.x - c.block;
    if (helper == 0) prepare();
    if (helper < 0) {
      hopper::grid_dependency_sync();
      prepare_work(row<false>(0, 0, 0));
    }
    __syncthreads();
    if constexpr (c.cluster > 1) {
      hopper::cluster_arrive_relaxed();  // prepare() has released what it wrote; a release here would wait for all loads that are under way
      hopper::cluster_wait();
    }
    if (helper < 0) {
      packets == kPackets ? work<true>(part_of, write) : work<false>(part_of, write);
    } else if (helper == 0) {
      fetch_rest();
    } else if (helper >= 64) {
      combine_parts(result_of);
    } else if (helper >= 32) {
      broadcast_parts();
    }
  }
};
