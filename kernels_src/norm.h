#pragma once
// What layernorm, rmsnorm and residual_rmsnorm share: y = (x - center) * scale * weight + bias for each row, with a center and a scale from
// the row's own statistics. The kernel reads x once and writes y once; weights come from the L1 cache, which loads of x bypass.
// A file that includes this one defines kResidual (the kernel adds a second matrix to x and returns the sum, too) and kBiased before.
#include "statistic.h"
#include "stream.h"

// ---- weights ---------------------------------------------------------------------------------------------------------------------------
enum class Weights {
  late,   // loaded packet by packet as they are used: the fewest registers
  early,  // loaded before the threads of a row wait for each other, which hides their latency
};

/// The weights (or biases) for the packets of a row. Where a row begins inside a packet (`aligned` is false), a packet of x needs elements
/// of two packets of weights: a thread then loads single elements, for one packet at a time, because all packets would take most of its
/// registers.
template <class T, auto c> struct WeightsOfRow {
  static constexpr int kVec = c.bytes / (int)sizeof(T), kHeld = c.items_per_thread / kVec;
  const T* weights;
  Packet<T, kVec> held[kHeld];

  HONE_DEVICE void load(const Row<T, c>& row, bool aligned) {
    if (!aligned) return;
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      if (row.has(k)) held[k] = load_packet<T, kVec>(weights + row.column(k));
    }
  }
  HONE_DEVICE Packet<T, kVec> at(long column, bool aligned) const {
    if (aligned) return load_packet<T, kVec>(weights + column);
    float packet[kVec];
#pragma unroll
    for (int e = 0; e < kVec; ++e) packet[e] = (float)weights[column + e];
    asm volatile("" ::: "memory");  // keeps the loads of the next packet behind these
    return pack<T>(packet);
  }
};

// ---- the space -------------------------------------------------------------------------------------------------------------------------
struct Problem {
  long rows = 4096, cols = 4096;
};

// On an H200, rows of up to 32 KiB are fastest with one block each and all elements in registers (in_flight = 0). Long rows are fastest
// with persistent clusters (stages): 128 rows of 131072 take the time of a copy. Rows that begin inside a packet take a fourth longer, each
// on one or two multiprocessors with the rest in shared memory.
struct Config {
  TUNE(64, 128, 256, 512, 1024) int block = 256;     // threads in a block
  TUNE(4, 8, 16, 32, 64, 128, 256, 512, 1024) int row_threads = 256;  // of a block that share a row: it has block / row_threads rows
  TUNE(1, 2, 4, 8, 16) int cluster = 1;              // blocks that share a row: long rows stay on chip, few rows fill the device
  TUNE(4, 8, 16) int bytes = 16;                     // of one access: 16 is the widest there is, less gives short rows more threads
  TUNE(4, 8, 16, 32, 64) int items_per_thread = 32;  // elements of a row that a thread holds in registers
  TUNE(0, 1, 4) int in_flight = 1;                   // packets of the rest that a thread loads before it uses them; 0: rows have no rest
  TUNE(false, true) bool rest_shared = false;        // shared memory keeps the rest, as far as it fits; else it is read again
  TUNE(false, true) bool unaligned_rows = true;      // rows may begin and end inside a packet; without that code 10 to 30 registers fewer
  TUNE(0, 3, 4, 6, 8) int stages = 0;                // rows in the shared memory of a persistent block (stream.h); 0: blocks are not persistent
  TUNE(0, 1, 2, 3, 4) int lookahead = 0;             // rows that are reduced ahead of the row that is written
  TUNE(0, 1, 2) int reserved_clusters = 0;           // clusters fewer than the multiprocessors suggest: not all GPCs have room for them
  TUNE(false, true) bool two_pass = kBiased;         // threads of a row reduce sums twice (mean, then squares) instead of moments once:
                                                     // half of the instructions, but one more barrier
  TUNE(Weights::late, Weights::early) Weights weights = Weights::late;  // when they are loaded
  TUNE(false, true) bool stream_load = false;        // caches evict lines of x first: the weights stay in L1
  TUNE(false, true) bool stream_store = false;       // caches evict lines of y first
  TUNE(1, 2, 4, 8) int min_blocks = 4;               // resident on a multiprocessor: caps the registers of a thread
};

#include "row_space.h"

constexpr long kKeptBytes = 208 << 10;  // the most of a multiprocessor's shared memory that holds the rest

/// Packets of the rest that a thread keeps in shared memory, in whole rounds of in_flight.
HONE_BOTH constexpr long most_kept(Config c) {
  const long round = max_of(c.in_flight, 1);
  return c.rest_shared ? kKeptBytes / c.min_blocks / (c.block * c.bytes * (kResidual ? 2 : 1)) / round * round : 0;
}

template <class T> HONE_BOTH constexpr long shared_bytes(Problem p, Config c) {
  const long inputs = kResidual ? 2 : 1;
  if (c.stages > 0) return (long)c.stages * c.block * c.items_per_thread * sizeof(T) * inputs;
  return min_of(rest<T>(p, c), most_kept(c)) * c.block * c.bytes * inputs;
}

/// Registers of a thread of a persistent block: its weights, and the elements of a row.
template <class T> HONE_BOTH constexpr int streamed_registers(Config c) {
  return c.items_per_thread * (int)sizeof(T) / 4 * (kBiased ? 2 : 1) + c.items_per_thread + 24;
}

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (!rows_are_legal<T>(p, c, d)) return false;
  if (c.two_pass && !kBiased) return false;                                          // only layernorm subtracts the mean
  if (c.two_pass && c.stages > 0) return false;                                      // duplicate: persistent blocks reduce once for a row
  if (c.rest_shared && most_kept(c) == 0) return false;                              // duplicate: no round of the rest fits
  return shared_bytes<T>(p, c) + declared_bytes(c) <= d.shared_memory_per_block;     // the device's limit
}

template <class T> constexpr bool likely(Problem p, Config c, Device d) {
  const long row_bytes = p.cols * (long)sizeof(T);
  if (!rows_are_likely<T>(p, c, d)) return false;
  if (c.stages > 0 && c.weights == Weights::late) return false;                   // persistent blocks keep the weights
  if (c.stages > 0 && streamed_registers<T>(c) * threads_of(c) * c.min_blocks > d.registers_per_multiprocessor) return false;  // spills
  if (rest<T>(p, c) > 0 && !c.rest_shared) return false;                          // reading again costs up to twice the time
  if (c.cluster > 1 && c.stages == 0 && !c.unaligned_rows && row_bytes <= (512 << 10)) return false;  // persistent clusters are faster for such rows
  if (c.rest_shared && rest<T>(p, c) == 0) return false;                          // there is no rest
  if (c.rest_shared && c.in_flight < 4) return false;                             // was always slower
  return (shared_bytes<T>(p, c) + 3072) * c.min_blocks <= d.shared_memory_per_multiprocessor;  // more blocks only queue
}

template <class T> constexpr Launch launch(Problem p, Config c, Device d) {
  return {.grid = {(c.stages > 0 ? streams_of(p, c, c.reserved_clusters, d) : groups_of(p, c)) * c.cluster},
          .block = {threads_of(c)},
          .cluster = {c.cluster},
          .shared = shared_bytes<T>(p, c),
          .overlap = true};
}

// ---- the kernel ------------------------------------------------------------------------------------------------------------------------
/// A pointer is null if the kernel has no such argument.
template <class T> struct NormArguments {
  const T *x, *residual, *weight, *bias;
  T *y, *sum;  // sum: x + residual
};

template <class T, Config c, class Statistic> struct Norm {
  static constexpr int kVec = c.bytes / (int)sizeof(T), kHeld = c.items_per_thread / kVec, kInputs = kResidual ? 2 : 1;
  static constexpr int kBatch = max_of(c.in_flight, 1);
  using RowPacket = Packet<T, kVec>;
  using RowOfThread = Row<T, c>;
  const NormArguments<T>& a;
  ReduceStorage<typename ReducedOf<Statistic, c.two_pass>::type>* slots;  // two
  RowPacket* kept;            // this thread's place in shared memory for the rest
  WeightsOfRow<T, c> weight, bias;

  HONE_DEVICE void load_weights(const RowOfThread& row, bool aligned) {
    weight.load(row, aligned);
    if constexpr (kBiased) bias.load(row, aligned);
  }

  /// The values to normalize: x, or x + residual.
  HONE_DEVICE void take(const RowPacket& x, const RowPacket& residual, float (&value)[kVec]) const {
#pragma unroll
    for (int e = 0; e < kVec; ++e) value[e] = kResidual ? x[e] + residual[e] : x[e];
  }
  HONE_DEVICE float take(long at) const { return kResidual ? (float)a.x[at] + (float)a.residual[at] : (float)a.x[at]; }

  /// Takes the difference first, which is exact for nearly equal values: value * scale - center * scale is off by up to 2e-5 where the
  /// elements of a row are equal, which is more than a bf16 result near 0 can be.
  HONE_DEVICE static float normal_of(float value, Normalizer normal) {
    if constexpr (!kBiased) return value * normal.scale;
    return (value - normal.center) * normal.scale;
  }

  HONE_DEVICE void write(const RowOfThread& row, int k, const float (&value)[kVec], const RowPacket& w, const RowPacket& b,
                         Normalizer normal) const {
    float result[kVec];
#pragma unroll
    for (int e = 0; e < kVec; ++e) {
      const float normal_value = normal_of(value[e], normal);
      result[e] = kBiased ? normal_value * w[e] + b[e] : normal_value * w[e];
    }
    row.write(a.y, k, pack<T>(result));
    if constexpr (kResidual) row.write(a.sum, k, pack<T>(value));
  }
  HONE_DEVICE void write(long at, long column, Normalizer normal) const {
    const float value = take(at), scaled = normal_of(value, normal) * (float)a.weight[column];
    a.y[at] = T(kBiased ? scaled + (float)a.bias[column] : scaled);
    if constexpr (kResidual) a.sum[at] = T(value);
  }

  /// Calls visitor(k, values) for the packets of the rest, kBatch at a time; the first visit loads them from device memory.
  template <bool first, class Visitor>
  HONE_DEVICE void visit_rest(const RowOfThread& row, const RowOfThread& other, Visitor visitor) const {
    if constexpr (c.in_flight > 0) {
      for (int k = kHeld; row.has(k); k += kBatch) {
        const bool keep = c.rest_shared && k < kHeld + (int)most_kept(c);
        RowPacket packet[kInputs][kBatch];
#pragma unroll
        for (int j = 0; j < kBatch; ++j) {
#pragma unroll
          for (int i = 0; i < kInputs; ++i) {
            if (keep && !first) {
              packet[i][j] = kept[((k + j - kHeld) * kInputs + i) * c.block];
            } else {
              packet[i][j] = (i == 0 ? row : other).read(k + j, 0.0f);
            }
          }
        }
        float value[kBatch][kVec];
#pragma unroll
        for (int j = 0; j < kBatch; ++j) {
#pragma unroll
          for (int i = 0; i < kInputs; ++i) {
            if (keep && first) kept[((k + j - kHeld) * kInputs + i) * c.block] = packet[i][j];
          }
          take(packet[0][j], packet[kInputs - 1][j], value[j]);
        }
        visitor(k, value);
      }
    }
  }

  HONE_DEVICE Statistic statistic(const RowOfThread& row, const RowOfThread& other, const float (&held)[kHeld][kVec]) const {
    Statistic part = Statistic::of(held, [&](int k) { return row.has(k); });
    if (row.in_head()) part = Statistic::combine(part, Statistic::of(take(row.head_at())));
    if (row.in_tail()) part = Statistic::combine(part, Statistic::of(take(row.tail_at())));
    visit_rest<true>(row, other, [&](int k, const float (&value)[kBatch][kVec]) {
      part = Statistic::combine(part, Statistic::of(value, [&](int j) { return row.has(k + j); }));
    });
    return part;
  }

  /// The sum of term(value) over this thread's elements of the row.
  template <bool first, class Term>
  HONE_DEVICE Total total(const RowOfThread& row, const RowOfThread& other, const float (&held)[kHeld][kVec], Term term) const {
    float sum = row.in_head() ? term(take(row.head_at())) : 0.0f;
    if (row.in_tail()) sum += term(take(row.tail_at()));
    const auto add = [&](int k, const float (&value)[kVec]) {
      if (!row.has(k)) return;
#pragma unroll
      for (int e = 0; e < kVec; ++e) sum += term(value[e]);
    };
#pragma unroll
    for (int k = 0; k < kHeld; ++k) add(k, held[k]);
    visit_rest<first>(row, other, [&](int k, const float (&value)[kBatch][kVec]) {
#pragma unroll
      for (int j = 0; j < kBatch; ++j) add(k + j, value[j]);
    });
    return {sum};
  }

  HONE_DEVICE Normalizer normalizer(const Rows<T, c, kInputs>& rows, const RowOfThread& row, const RowOfThread& other,
                                    const float (&held)[kHeld][kVec], float epsilon) const {
    if constexpr (c.two_pass) {
      const float share = 1.0f / (float)rows.cols;  // ahead of the barrier
      const Total sum = total<true>(row, other, held, [](float value) { return value; });
      rows.wait_for_cluster();
      const float mean = reduce_row<c>(sum, slots[0]).sum * share;
      const Total squares = total<false>(row, other, held, [&](float value) { return (value - mean) * (value - mean); });
      return {mean, rsqrtf(reduce_row<c>(squares, slots[1]).sum * share + epsilon)};
    } else {
      const Statistic part = statistic(row, other, held);
      rows.wait_for_cluster();
      const Statistic whole = reduce_row<c>(part, slots[0]);
      return {whole.center(), whole.scale(rows.cols, epsilon)};
    }
  }

  HONE_DEVICE void write_row(const RowOfThread& row, const RowOfThread& other, const float (&held)[kHeld][kVec], bool aligned,
                             Normalizer normal) const {
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      if (!row.has(k)) continue;
      const bool loaded = aligned && c.weights != Weights::late;
      const RowPacket w = loaded ? weight.held[k] : weight.at(row.column(k), aligned);
      const RowPacket b = !kBiased ? w : loaded ? bias.held[k] : bias.at(row.column(k), aligned);
      write(row, k, held[k], w, b, normal);
    }
    if (row.in_head()) write(row.head_at(), row.lane, normal);
    if (row.in_tail()) write(row.tail_at(), row.tail_at() - row.start, normal);
    visit_rest<false>(row, other, [&](int k, const float (&value)[kBatch][kVec]) {
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        if (!row.has(k + j)) continue;
        const RowPacket w = weight.at(row.column(k + j), aligned), b = kBiased ? bias.at(row.column(k + j), aligned) : w;
        write(row, k + j, value[j], w, b, normal);
      }
    });
  }

  HONE_DEVICE void take(const RowOfThread& row, const RowOfThread& other, float (&value)[kHeld][kVec]) const {
    RowPacket x[kHeld], residual[kHeld];
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      x[k] = row.read(k, 0.0f);
      if constexpr (kResidual) residual[k] = other.read(k, 0.0f);
    }
#pragma unroll
    for (int k = 0; k < kHeld; ++k) take(x[k], residual[k], value[k]);
  }

  HONE_DEVICE void prefetch_weights(long column, long count) const {
    if (threadIdx.x == 0) hopper::prefetch_l2(a.weight + column, count * (long)sizeof(T));
    if (kBiased && threadIdx.x == 0) hopper::prefetch_l2(a.bias + column, count * (long)sizeof(T));
  }

  /// Runs in a persistent block.
  HONE_DEVICE void stream(const Rows<T, c, kInputs>& rows, float epsilon) {
    using Stream = RowStream<T, c, Statistic, Normalizer, kInputs>;
    __shared__ typename Stream::Shared shared;
    float value[kHeld][kVec];
    const Stream stream{rows, shared};
    if (blockIdx.x < c.cluster) prefetch_weights(stream.begin, stream.packets * kVec);
    stream.run(
        [&](const RowOfThread& row) { load_weights(row, true); },
        [&](const RowOfThread& row, const RowOfThread& other) {
          take(row, other, value);
          return Statistic::of(value, [&](int k) { return row.has(k); });
        },
        [&](const Statistic& whole) { return Normalizer{whole.center(), whole.scale(rows.cols, epsilon)}; },
        [&](const RowOfThread& row, const RowOfThread& other, Normalizer normal) {
          take(row, other, value);
          write_row(row, other, value, true, normal);
        });
  }

  /// Runs in a block of one group of rows.
  HONE_DEVICE void once(Rows<T, c, kInputs> rows, float epsilon) {
    rows.begin();
    const RowOfThread row = rows.row(0), other = rows.row(kInputs - 1);
    rows.prefetch_l2(row);
    if (blockIdx.x == 0) prefetch_weights(0, rows.cols);
    hopper::grid_dependency_sync();
    const bool aligned = !c.unaligned_rows || row.column(0) % kVec == 0;
    RowPacket x[kHeld], residual[kHeld];
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      x[k] = row.read(k, 0.0f);
      if constexpr (kResidual) residual[k] = other.read(k, 0.0f);
    }
    if constexpr (c.weights == Weights::early) load_weights(row, aligned);
    float held[kHeld][kVec];
#pragma unroll
    for (int k = 0; k < kHeld; ++k) take(x[k], residual[k], held[k]);
    write_row(row, other, held, aligned, normalizer(rows, row, other, held, epsilon));
  }

  HONE_DEVICE void run(const Rows<T, c, kInputs>& rows, float epsilon) {
    if constexpr (c.stages > 0) {
      stream(rows, epsilon);
    } else {
      once(rows, epsilon);
    }
  }
};
