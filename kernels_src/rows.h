#pragma once
// What kernels over the rows of a matrix share: how a block gets at its rows (Rows, Row), and how the threads of a row join what each of
// them knows (reduce_row).
//
// A row is read in aligned words of `bytes`; the few elements before the first and behind the last are dealt with one by one. Either the
// threads load for themselves, or one of them has the block's rows copied into shared memory (cp.async.bulk, Hopper: no registers and no
// instructions while bytes are under way). Blocks that stay and fetch the next rows meanwhile are in stream.h. The words of a row may be
// shared out among several blocks, a contiguous part each: among a cluster, whose blocks join through distributed shared memory, or
// (row_sum) among blocks that leave their results to a second pass.
//
// A Config of such a kernel has the fields
//   block, row_threads, cluster, bytes, in_flight, edges, bulk (or stages: stream.h), stream_load, stream_store
// and the kernel's file says what they mean and which values they may have.
#include "bulk.h"
#include "overlap.h"
#include "packet.h"

// ---- for references --------------------------------------------------------------------------------------------------------------------
/// Calls visit(c, value) for each element of a row, in order. The one thread that has the row has many loads under way.
template <class T, class Visit> HONE_DEVICE void for_each_in_row(const T* row, long cols, Visit visit) {
  constexpr int kAtOnce = 32;
  long c = 0;
  for (; c + kAtOnce <= cols; c += kAtOnce) {
    float value[kAtOnce];
#pragma unroll
    for (int e = 0; e < kAtOnce; ++e) value[e] = (float)row[c + e];
#pragma unroll 4  // all 32 exponentials in a row take the compiler most of a second
    for (int e = 0; e < kAtOnce; ++e) visit(c + e, (double)value[e]);
  }
  for (; c < cols; ++c) visit(c, (double)(float)row[c]);
}

// ---- for valid and launch --------------------------------------------------------------------------------------------------------------
/// Words behind those that a thread holds, made up to whole rounds of in_flight. `words` and `threads` are those of a row.
HONE_BOTH constexpr long words_behind(long words, long threads, long held, long in_flight) {
  return round_up(max_of(0L, ceil_div(words, threads) - held), max_of(in_flight, 1L));
}

/// Shared memory for the part of `rows` rows that one bulk copy brings: 16 bytes more, because parts differ by a word.
template <class T> HONE_BOTH constexpr long bulk_bytes(long rows, long cols, long parts) {
  return round_up(ceil_div(rows * cols, parts) * (long)sizeof(T) + 16, 128L);
}

/// Whether threads find their words in shared memory, brought there by bulk copies.
template <class C> HONE_BOTH constexpr bool copied(C c) {
  if constexpr (requires { c.bulk; }) {
    return c.bulk;
  } else {
    return c.stages > 0;
  }
}

// ---- clusters (Hopper) -----------------------------------------------------------------------------------------------------------------
#if defined(__CUDACC__)
HONE_DEVICE void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
HONE_DEVICE void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

/// Writes the 4 bytes at `word` in the shared memory of block `rank` of the cluster.
HONE_DEVICE void store_remote(float* word, int rank, float value) {
  asm volatile("{ .reg .u32 at; mapa.shared::cluster.u32 at, %0, %1; st.shared::cluster.f32 [at], %2; }" ::"r"(shared_address(word)),
               "r"(rank), "f"(value)
               : "memory");
}
#else
HONE_DEVICE void cluster_arrive() {}
HONE_DEVICE void cluster_wait() {}
HONE_DEVICE void store_remote(float* word, int, float value) { *word = value; }
#endif

// ---- joining ---------------------------------------------------------------------------------------------------------------------------
// A Part is what is known of a part of a row: a struct of floats with `static Part combine(Part, Part)`.

template <class Part> struct PartWords {
  float word[sizeof(Part) / sizeof(float)];
};

template <int lanes, class Part> HONE_DEVICE Part reduce_lanes(Part part) {
#pragma unroll
  for (int offset = lanes / 2; offset > 0; offset /= 2) {
    PartWords<Part> other = __builtin_bit_cast(PartWords<Part>, part);
#pragma unroll
    for (float& word : other.word) word = __shfl_xor_sync(0xffffffffu, word, offset);
    part = Part::combine(part, __builtin_bit_cast(Part, other));
  }
  return part;
}

/// Shared memory of one reduce_row.
template <class Part> struct ReduceStorage {
  Part of_warp[32];
  PartWords<Part> of_block[16];  // of the cluster
};

/// Joins the parts of all threads of a row and gives the result to each of them.
template <auto c, class Part> HONE_DEVICE Part reduce_row(Part part, ReduceStorage<Part>& slots) {
  part = reduce_lanes<min_of(c.row_threads, 32)>(part);
  if constexpr (c.row_threads > 32) {
    constexpr unsigned kWarps = c.row_threads / 32;
    const unsigned warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) slots.of_warp[warp] = part;
    __syncthreads();
    part = reduce_lanes<(int)kWarps>(slots.of_warp[warp / kWarps * kWarps + threadIdx.x % kWarps]);
  }
  // A block writes its part into each other's memory, a thread for a block: reading there would be a request for each thread. On an H200
  // 512 threads of 16 blocks took 9 us to read each other's parts.
  if constexpr (c.cluster > 1) {
    if (threadIdx.x < c.cluster) {
      const PartWords<Part> words = __builtin_bit_cast(PartWords<Part>, part);
#pragma unroll
      for (int i = 0; i < (int)(sizeof(Part) / sizeof(float)); ++i) {
        store_remote(&slots.of_block[blockIdx.x % c.cluster].word[i], (int)threadIdx.x, words.word[i]);
      }
    }
    cluster_arrive();
    cluster_wait();
    part = reduce_lanes<c.cluster>(__builtin_bit_cast(Part, slots.of_block[threadIdx.x % c.cluster]));
  }
  return part;
}

// ---- the rows of a block ---------------------------------------------------------------------------------------------------------------
/// Where the part of one block lies in a row, in elements of the matrix; `head` and `tail` are the block's own.
struct Part1D {
  long row, word;  // first element of the row, and of the part's words
  int head, words, tail;
};

/// A thread's view of a row (or of its block's part of one).
template <class T, auto c> struct Row {
  static constexpr int kVec = c.bytes / (int)sizeof(T);
  using RowPacket = Packet<T, kVec>;
  long index;        // of the row
  long start, word;  // first element of the row, and of this thread's first word, in the matrix
  int head, tail;    // elements that come one by one: those of threads with lane < head, lane < tail
  long tail_start;
  int lane, left;    // of this thread among row_threads; words from its first to the end of the part
  const T* from;     // this thread's first word, in device memory or as copied

  HONE_DEVICE bool has(int k) const { return k * c.row_threads < left; }
  /// Column of this thread's k-th word.
  HONE_DEVICE long column(int k) const { return word - start + (long)k * (c.row_threads * kVec); }
  HONE_DEVICE RowPacket read(int k) const {
    const T* at = from + (long)k * (c.row_threads * kVec);
    if constexpr (copied(c)) return load_packet<T, kVec>(at);
    return load_packet<T, kVec, c.stream_load>(at);
  }
  /// `absent` in all elements where the row has no such word.
  HONE_DEVICE RowPacket read(int k, float absent) const { return has(k) ? read(k) : splat<T, kVec>(absent); }
  HONE_DEVICE void write(T* y, int k, const RowPacket& value) const {
    store_packet<c.stream_store>(y + word + (long)k * (c.row_threads * kVec), value);
  }
  HONE_DEVICE bool in_head() const { return c.unaligned_rows && lane < head; }
  HONE_DEVICE bool in_tail() const { return c.unaligned_rows && lane < tail; }
  HONE_DEVICE long head_at() const { return start + lane; }
  HONE_DEVICE long tail_at() const { return tail_start + lane; }

  /// Calls visitor(k, words) for this thread's words from the first-th on, in_flight at a time (0: there are none); those the row has not
  /// are `absent`. The words are left in, or taken from, `kept`: this thread's place in shared memory.
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
/// `inputs` matrices of one shape are read alike.
template <class T, auto c, int inputs = 1> struct Rows {
  static constexpr int kVec = c.bytes / (int)sizeof(T), kRows = c.block / c.row_threads;
  long rows, cols, parts;
  const T* x[inputs];
  T* shared;  // for what bulk copies bring
  long first = 0, part = 0, copy_elements = 0;

  HONE_DEVICE Part1D part_of(long r, long part) const {
    const long start = r * cols;
    // The last block's surplus threads stay for the barriers, with an empty row.
    const unsigned long here = kRows == 1 || r < rows ? cols : 0;
    const int head = c.unaligned_rows ? (int)min_of(here, (unsigned long)((kVec - (unsigned)start % kVec) % kVec)) : 0;
    const long words = (here - head) / kVec;
    const int tail = c.unaligned_rows ? (int)(here - head - words * kVec) : 0;
    if (parts == 1) return {start, start + head, head, (int)words, tail};
    const long per_part = ceil_div((unsigned)words, (unsigned)parts), begin = min_of(per_part * part, words);  // 32 bits are enough
    return {start, start + head + begin * kVec, part == 0 ? head : 0, (int)min_of(per_part, words - begin), part == parts - 1 ? tail : 0};
  }

  HONE_DEVICE void fetch(Mbarrier* arrival) const {
    const Part1D from = part_of(first, part), last = part_of(min_of(first + kRows, rows) - 1, part);
    const unsigned bytes = (unsigned)((last.word - from.word + (long)last.words * kVec) * (long)sizeof(T));
    mbarrier_init(arrival);
    mbarrier_arrive_expect_tx(arrival, bytes * inputs);
    if (bytes == 0) return;
    grid_dependency_wait();
#pragma unroll
    for (int i = 0; i < inputs; ++i) bulk_load<c.stream_load>(shared + i * copy_elements, x[i] + from.word, bytes, arrival);
  }

  HONE_DEVICE void begin() {
    if constexpr (c.cluster > 1) cluster_arrive();
    // Numbers of blocks fit in 32 bits: a division takes a fourth of the time. Most often there is nothing to divide.
    first = parts == 1 ? (long)blockIdx.x * kRows : (long)(blockIdx.x / (unsigned)parts) * kRows;
    part = parts == 1 ? 0 : blockIdx.x % (unsigned)parts;
    if constexpr (copied(c)) {
      __shared__ Mbarrier arrival;
      copy_elements = bulk_bytes<T>(kRows, cols, parts) / (long)sizeof(T);
      if (threadIdx.x == 0) fetch(&arrival);
      __syncthreads();
      mbarrier_wait(&arrival, 0);
    }
  }
  /// What this block reads; `row` is this thread's.
  HONE_DEVICE void prefetch_l2(const Row<T, c>& row) const {
    if (copied(c) || threadIdx.x != 0) return;
    const long begin = kRows == 1 ? row.word : first * cols;
    const long bytes = kRows == 1 ? (long)row.left * c.bytes : min_of((long)kRows, rows - first) * cols * (long)sizeof(T);
#pragma unroll
    for (int i = 0; i < inputs; ++i) ::prefetch_l2(x[i] + begin, bytes);
  }
  /// Before the first reduce_row, when loads are under way: the blocks of a cluster wait until all of them run, and so have shared memory to
  /// be written to.
  HONE_DEVICE void wait_for_cluster() const {
    if constexpr (c.cluster > 1) cluster_wait();
  }
  /// This thread's row in matrix `input`.
  HONE_DEVICE Row<T, c> row(int input = 0) const {
    const long r = first + threadIdx.x / c.row_threads;
    const int lane = (int)(threadIdx.x % c.row_threads);
    const Part1D at = part_of(r, part);
    Row<T, c> row = {r, at.row, at.word + lane * kVec, at.head, at.tail, at.word + (long)at.words * kVec, lane, at.words - lane, nullptr};
    if constexpr (copied(c)) {
      const long before = kRows == 1 ? 0 : at.word - part_of(first, part).word;  // of this row, among those copied
      row.from = shared + input * copy_elements + before + lane * kVec;
    } else {
      row.from = x[input] + row.word;
    }
    return row;
  }
};
