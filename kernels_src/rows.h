#pragma once
// What kernels over the rows of a matrix share: how a block reads its rows (Rows, Row), and how the threads of a row reduce their partial
// results (reduce_row).
//
// A row is read in aligned packets of `bytes`; the few elements before the first packet and behind the last one are loaded one by one.
// Either each thread loads its own packets, or one thread starts a bulk copy of the block's rows into shared memory (cp.async.bulk, Hopper:
// no registers and no instructions while bytes are under way). Persistent blocks, which load the next rows meanwhile, are in stream.h.
// Several blocks may share the packets of a row, a contiguous part each: the blocks of a cluster, which reduce through distributed shared
// memory, or (row_sum) blocks whose results a second pass adds up.
//
// A Config of such a kernel has the fields
//   block, row_threads, cluster, bytes, in_flight, unaligned_rows, bulk (or stages: stream.h), stream_load, stream_store
// The kernel's file says what they mean and which values they may have.
#include "packet.h"
#include <hone/kernel_hopper.h>

// ---- for references --------------------------------------------------------------------------------------------------------------------
/// Calls visit(c, value) for each element of a row, in order. One thread has the row and keeps many loads under way.
template <class T, class Visit> HONE_DEVICE void for_each_in_row(const T* row, long cols, Visit visit) {
  constexpr int kAtOnce = 32;
  long c = 0;
  for (; c + kAtOnce <= cols; c += kAtOnce) {
    float value[kAtOnce];
#pragma unroll
    for (int e = 0; e < kAtOnce; ++e) value[e] = (float)row[c + e];
#pragma unroll 4  // to unroll all 32 exponentials takes the compiler most of a second
    for (int e = 0; e < kAtOnce; ++e) visit(c + e, (double)value[e]);
  }
  for (; c < cols; ++c) visit(c, (double)(float)row[c]);
}

// ---- for valid and launch --------------------------------------------------------------------------------------------------------------
/// Packets of a thread behind those that it holds in registers, rounded up to whole rounds of in_flight. `packets` and `threads` are a
/// row's.
HONE_BOTH constexpr long remaining_packets(long packets, long threads, long per_thread, long in_flight) {
  return round_up(max_of(0L, ceil_div(packets, threads) - per_thread), max_of(in_flight, 1L));
}

/// Shared memory for the part of `rows` rows that one bulk copy loads: 16 bytes more, because parts differ by a packet.
template <class T> HONE_BOTH constexpr long bulk_bytes(long rows, long cols, long parts) {
  return round_up(ceil_div(rows * cols, parts) * (long)sizeof(T) + 16, 128L);
}

/// Whether bulk copies load the packets into shared memory.
template <class C> HONE_BOTH constexpr bool copied(C c) {
  if constexpr (requires { c.bulk; }) {
    return c.bulk;
  } else {
    return c.stages > 0;
  }
}

// ---- reductions ------------------------------------------------------------------------------------------------------------------------
// A Part is the partial result of a part of a row: a struct of floats with `static Part combine(Part, Part)`.

template <class Part> struct PartFloats {
  float value[sizeof(Part) / sizeof(float)];
};

template <int lanes, class Part> HONE_DEVICE Part reduce_lanes(Part part) {
#pragma unroll
  for (int offset = lanes / 2; offset > 0; offset /= 2) {
    PartFloats<Part> other = __builtin_bit_cast(PartFloats<Part>, part);
#pragma unroll
    for (float& value : other.value) value = __shfl_xor_sync(0xffffffffu, value, offset);
    part = Part::combine(part, __builtin_bit_cast(Part, other));
  }
  return part;
}

/// Shared memory of one reduce_row.
template <class Part> struct ReduceStorage {
  Part of_warp[32];
  PartFloats<Part> of_block[16];  // of the cluster
};

/// Combines the parts of all threads of a row and returns the result in each of them.
template <auto c, class Part> HONE_DEVICE Part reduce_row(Part part, ReduceStorage<Part>& slots) {
  part = reduce_lanes<min_of(c.row_threads, 32)>(part);
  if constexpr (c.row_threads > 32) {
    constexpr unsigned kWarps = c.row_threads / 32;
    const unsigned warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) slots.of_warp[warp] = part;
    __syncthreads();
    part = reduce_lanes<(int)kWarps>(slots.of_warp[warp / kWarps * kWarps + threadIdx.x % kWarps]);
  }
  // A block writes its part into the shared memory of each block, one thread for a block. Reading would take a request for each thread: on
  // an H200, 512 threads of 16 blocks took 9 us to read each other's parts.
  if constexpr (c.cluster > 1) {
    if (threadIdx.x < c.cluster) {
      const PartFloats<Part> floats = __builtin_bit_cast(PartFloats<Part>, part);
#pragma unroll
      for (int i = 0; i < (int)(sizeof(Part) / sizeof(float)); ++i) {
        hopper::store_remote(&slots.of_block[blockIdx.x % c.cluster].value[i], (int)threadIdx.x, floats.value[i]);
      }
    }
    hopper::cluster_arrive();
    hopper::cluster_wait();
    part = reduce_lanes<c.cluster>(__builtin_bit_cast(Part, slots.of_block[threadIdx.x % c.cluster]));
  }
  return part;
}

// ---- the rows of a block ---------------------------------------------------------------------------------------------------------------
/// The part of a row that one block has, in elements of the matrix. `head` and `tail` are 0 unless the block has that end of the row.
struct Part1D {
  long row, packet;  // first element of the row, and of the part's packets
  int head, packets, tail;
};

/// The packets and elements of a row, or of its block's part of one, that one thread has.
template <class T, auto c> struct Row {
  static constexpr int kVec = c.bytes / (int)sizeof(T);
  using RowPacket = Packet<T, kVec>;
  long index;        // of the row
  long start, packet;  // first element of the row, and of this thread's first packet, in the matrix
  int head, tail;    // elements outside of packets: threads with lane < head, and those with lane < tail, have one each
  long tail_start;
  int lane, left;    // lane: of this thread among row_threads; left: packets from its first one to the end of the part
  const T* from;     // this thread's first packet, in device memory or in shared memory

  HONE_DEVICE bool has(int k) const { return k * c.row_threads < left; }
  /// Column of this thread's k-th packet.
  HONE_DEVICE long column(int k) const { return packet - start + (long)k * (c.row_threads * kVec); }
  HONE_DEVICE RowPacket read(int k) const {
    const T* at = from + (long)k * (c.row_threads * kVec);
    if constexpr (copied(c)) return load_packet<T, kVec>(at);
    return load_packet<T, kVec, c.stream_load>(at);
  }
  /// A packet of `absent` where the row has no such packet.
  HONE_DEVICE RowPacket read(int k, float absent) const { return has(k) ? read(k) : splat<T, kVec>(absent); }
  HONE_DEVICE void write(T* y, int k, const RowPacket& value) const {
    store_packet<c.stream_store>(y + packet + (long)k * (c.row_threads * kVec), value);
  }
  HONE_DEVICE bool in_head() const { return c.unaligned_rows && lane < head; }
  HONE_DEVICE bool in_tail() const { return c.unaligned_rows && lane < tail; }
  HONE_DEVICE long head_at() const { return start + lane; }
  HONE_DEVICE long tail_at() const { return tail_start + lane; }

  /// Calls visitor(k, packets) for this thread's packets from number `first` on, in_flight at a time (0: there are none). Packets beyond
  /// the row are `absent`. `keep` stores the packets at `kept`, this thread's place in shared memory; `take` loads them from there.
  template <bool keep, bool take, class Visitor> HONE_DEVICE void visit(int first, RowPacket* kept, float absent, Visitor visitor) const {
    if constexpr (c.in_flight > 0) {
      for (int k = first; has(k); k += c.in_flight) {
        RowPacket batch[c.in_flight];
#pragma unroll
        for (int j = 0; j < c.in_flight; ++j) batch[j] = take ? kept[(k + j - first) * c.block] : read(k + j, absent);
#pragma unroll
        for (int j = 0; j < c.in_flight; ++j) {
          if constexpr (keep) kept[(k + j - first) * c.block] = batch[j];
        }
        visitor(k, batch);
      }
    }
  }
};

/// The rows of a block, or its part of one:
///   rows.begin(); row = rows.row(); rows.prefetch_l2(row); grid_dependency_sync(); ... rows.wait_for_cluster(); reduce_row; ...
/// All `inputs` matrices have one shape and are read alike.
template <class T, auto c, int inputs = 1> struct Rows {
  static constexpr int kVec = c.bytes / (int)sizeof(T), kRows = c.block / c.row_threads;
  long rows, cols, parts;
  const T* x[inputs];
  T* shared;  // where bulk copies go
  long first = 0, part = 0, copy_elements = 0;

  HONE_DEVICE Part1D part_of(long r, long part) const {
    const long start = r * cols;
    // Threads of the last block that have no row get an empty one: they must reach the barriers.
    const unsigned long here = kRows == 1 || r < rows ? cols : 0;
    const int head = c.unaligned_rows ? (int)min_of(here, (unsigned long)((kVec - (unsigned)start % kVec) % kVec)) : 0;
    const long packets = (here - head) / kVec;
    const int tail = c.unaligned_rows ? (int)(here - head - packets * kVec) : 0;
    if (parts == 1) return {start, start + head, head, (int)packets, tail};
    const long per_part = ceil_div((unsigned)packets, (unsigned)parts), begin = min_of(per_part * part, packets);  // 32 bits are enough
    return {start, start + head + begin * kVec, part == 0 ? head : 0, (int)min_of(per_part, packets - begin), part == parts - 1 ? tail : 0};
  }

  HONE_DEVICE void fetch(hopper::Mbarrier* arrival) const {
    const Part1D from = part_of(first, part), last = part_of(min_of(first + kRows, rows) - 1, part);
    const unsigned bytes = (unsigned)((last.packet - from.packet + (long)last.packets * kVec) * (long)sizeof(T));
    hopper::mbarrier_init(arrival);
    hopper::mbarrier_arrive_expect_tx(arrival, bytes * inputs);
    if (bytes == 0) return;
    grid_dependency_wait();
#pragma unroll
    for (int i = 0; i < inputs; ++i) hopper::bulk_load<c.stream_load>(shared + i * copy_elements, x[i] + from.packet, bytes, arrival);
  }

  HONE_DEVICE void begin() {
    if constexpr (c.cluster > 1) hopper::cluster_arrive();
    // Block numbers fit in 32 bits, in which a division takes a fourth of the time. Most often there is nothing to divide.
    first = parts == 1 ? (long)blockIdx.x * kRows : (long)(blockIdx.x / (unsigned)parts) * kRows;
    part = parts == 1 ? 0 : blockIdx.x % (unsigned)parts;
    if constexpr (copied(c)) {
      __shared__ hopper::Mbarrier arrival;
      copy_elements = bulk_bytes<T>(kRows, cols, parts) / (long)sizeof(T);
      if (threadIdx.x == 0) fetch(&arrival);
      __syncthreads();
      hopper::mbarrier_wait(&arrival, 0);
    }
  }
  /// Prefetches what this block reads; `row` is this thread's.
  HONE_DEVICE void prefetch_l2(const Row<T, c>& row) const {
    if (copied(c) || threadIdx.x != 0) return;
    const long begin = kRows == 1 ? row.packet : first * cols;
    const long bytes = kRows == 1 ? (long)row.left * c.bytes : min_of((long)kRows, rows - first) * cols * (long)sizeof(T);
#pragma unroll
    for (int i = 0; i < inputs; ++i) hopper::prefetch_l2(x[i] + begin, bytes);
  }
  /// Waits until all blocks of the cluster run: only then may others write to their shared memory. Call it before the first reduce_row,
  /// when loads are under way.
  HONE_DEVICE void wait_for_cluster() const {
    if constexpr (c.cluster > 1) hopper::cluster_wait();
  }
  /// This thread's row in matrix `input`.
  HONE_DEVICE Row<T, c> row(int input = 0) const {
    const long r = first + threadIdx.x / c.row_threads;
    const int lane = (int)(threadIdx.x % c.row_threads);
    const Part1D at = part_of(r, part);
    Row<T, c> row = {r, at.row, at.packet + lane * kVec, at.head, at.tail, at.packet + (long)at.packets * kVec, lane, at.packets - lane, nullptr};
    if constexpr (copied(c)) {
      const long before = kRows == 1 ? 0 : at.packet - part_of(first, part).packet;  // elements copied before this row
      row.from = shared + input * copy_elements + before + lane * kVec;
    } else {
      row.from = x[input] + row.packet;
    }
    return row;
  }
};
