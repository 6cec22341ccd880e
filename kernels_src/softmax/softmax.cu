// Row-wise softmax: y[r, c] = exp(x[r, c] - max_r) / sum_r.
#include "../approximate.h"
#include "../stream.h"

struct Problem {
  long rows = 4096, cols = 4096;
};

// Every configuration handles rows of any length, and a good one reads each element once: rows.h says how. On an H200, rows of up to 32 KiB
// are fastest with one block each and all elements in registers. Few long rows are fastest with persistent clusters (stages); rows of
// 16-bit elements, and rows that begin inside a packet, with one multiprocessor each (or two, cluster = 2) and the rest in shared memory.
struct Config {
  TUNE(64, 128, 256, 512, 1024) int block = 256;     // threads in a block
  TUNE(4, 8, 16, 32, 64, 128, 256, 512, 1024) int row_threads = 256;  // of a block that share a row: it has block / row_threads rows
  TUNE(1, 2, 4, 8, 16) int cluster = 1;              // blocks that share a row: long rows stay on chip, few rows fill the device
  TUNE(2, 4, 8, 16) int bytes = 16;                  // of one access: 16 is the widest there is, less gives short rows more threads
  TUNE(4, 8, 16, 32, 64) int items_per_thread = 32;  // elements of a row that a thread holds in registers
  TUNE(0, 1, 2, 4) int in_flight = 1;                // packets of the rest that a thread loads before it uses them; 0: rows have no rest
  TUNE(false, true) bool unaligned_rows = true;      // rows may begin and end inside a packet; without that code 15 registers fewer
  TUNE(false, true) bool rest_shared = false;        // shared memory keeps the rest; else it is read again
  TUNE(0, 3, 4, 6, 8) int stages = 0;                // rows in the shared memory of a persistent block (stream.h); 0: blocks are not persistent
  TUNE(0, 1, 2, 3, 4) int lookahead = 0;             // rows that are reduced ahead of the row that is written
  TUNE(0, 1, 2) int reserved_clusters = 0;           // clusters fewer than the multiprocessors suggest: not all GPCs have room for them
  TUNE(false, true) bool online = true;              // maximum and sum in one pass over the row instead of two
  TUNE(false, true) bool stream_load = false;        // caches evict lines of x first: nothing reads them again
  TUNE(false, true) bool stream_store = false;       // the same for lines of y
  TUNE(1, 2, 4, 8) int min_blocks = 1;               // resident on a multiprocessor: caps the registers of a thread
};

#include "../row_space.h"

template <class T> HONE_BOTH constexpr long shared_bytes(Problem p, Config c) {
  if (c.stages > 0) return (long)c.stages * c.block * c.items_per_thread * sizeof(T);
  return c.rest_shared ? rest<T>(p, c) * c.block * c.bytes : 0;
}

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (!rows_are_legal<T>(p, c, d)) return false;
  if (c.stages > 0 && !c.online) return false;                                    // duplicate: persistent blocks reduce once for a row
  return shared_bytes<T>(p, c) + declared_bytes(c) <= d.shared_memory_per_block;  // the device's limit
}

template <class T> constexpr bool likely(Problem p, Config c, Device d) {
  if (!rows_are_likely<T>(p, c, d)) return false;
  if (c.stages > 0 && (c.items_per_thread + 24) * threads_of(c) * c.min_blocks > d.registers_per_multiprocessor) return false;  // spills
  if (rest<T>(p, c) > 0 && !c.rest_shared && p.cols * sizeof(T) <= (512 << 10)) return false;  // the rest fits: reading it again takes longer
  if (c.rest_shared && rest<T>(p, c) == 0) return false;                          // there is no rest
  return (shared_bytes<T>(p, c) + 3072) * c.min_blocks <= d.shared_memory_per_multiprocessor;  // more blocks only queue
}

template <class T> constexpr Launch launch(Problem p, Config c, Device d) {
  const long groups = c.stages > 0 ? streams_of(p, c, c.reserved_clusters, d) : groups_of(p, c);
  return {.grid = {groups * c.cluster},
          .block = {threads_of(c)},
          .cluster = {c.cluster},
          .shared = shared_bytes<T>(p, c),
          .overlap = true};
}

template <class T> constexpr Cost cost(Problem p) {
  return {.flops = 5.0 * p.rows * p.cols, .bytes = 2.0 * p.rows * p.cols * sizeof(T), .sum_length = 1.0 * p.cols};
}

template <class T> REFERENCE(p.rows) void softmax_reference(long r, const T* x, double* y, Problem p) {
  const T* row = x + r * p.cols;
  double largest = (float)row[0], sum = 0;
  for_each_in_row(row, p.cols, [&](long, double value) { largest = fmax(largest, value); });
  for_each_in_row(row, p.cols, [&](long, double value) { sum += exp(value - largest); });
  for_each_in_row(row, p.cols, [&](long c, double value) { y[r * p.cols + c] = exp(value - largest) / sum; });
}

// ---- arithmetic ------------------------------------------------------------------------------------------------------------------------
constexpr float kLowest = -3.4e38f;  // the first maximum: finite, because infinity - infinity is NaN

/// exp(x - largest). Takes the difference first: log2(e) * x - log2(e) * largest would cancel digits.
HONE_DEVICE float exp_below(float x, float largest) { return power_of_two((x - largest) * 1.44269504f); }

/// The partial result of a part of a row: its maximum, and the sum of exp(x - maximum).
struct Part {
  float largest, sum;

  HONE_DEVICE static Part combine(Part a, Part b) {
    const float largest = fmaxf(a.largest, b.largest);
    return {largest, a.sum * exp_below(a.largest, largest) + b.sum * exp_below(b.largest, largest)};
  }
};

// ---- the row ---------------------------------------------------------------------------------------------------------------------------
template <class T, Config c> struct Softmax {
  static constexpr int kVec = vec<T>(c), kHeld = c.items_per_thread / kVec;
  static constexpr int kBatch = max_of(c.in_flight, 1);
  using RowPacket = Packet<T, kVec>;
  const T* x;
  T* y;
  ReduceStorage<Part>* slots;  // two
  RowPacket* kept;          // this thread's place in shared memory for the rest

  HONE_DEVICE float edge(bool present, long at) const { return present ? (float)x[at] : -INFINITY; }

  template <int packets> HONE_DEVICE static float largest_of(const RowPacket (&packet)[packets], float largest) {
#pragma unroll
    for (int j = 0; j < packets; ++j) {
#pragma unroll
      for (int e = 0; e < kVec; ++e) largest = fmaxf(largest, packet[j][e]);
    }
    return largest;
  }

  /// The Part of this thread's elements in registers: `packet`, whose exponentials go to `held`, `head` and `tail`.
  HONE_DEVICE static Part part_of(const RowPacket (&packet)[kHeld], float (&held)[kHeld][kVec], float head, float tail, float largest) {
    Part part = {largest, exp_below(head, largest) + exp_below(tail, largest)};
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
#pragma unroll
      for (int e = 0; e < kVec; ++e) part.sum += held[k][e] = exp_below(packet[k][e], largest);
    }
    return part;
  }

  /// Combines the rest with `part`.
  HONE_DEVICE void add_rest(const Row<T, c>& row, Part& part) const {
    constexpr bool kKeep = c.online && c.rest_shared, kTake = !c.online && c.rest_shared;
    row.template visit<kKeep, kTake>(kHeld, kept, -INFINITY, [&](int, const RowPacket (&packet)[kBatch]) {
      if constexpr (c.online) {
        const float next = largest_of(packet, part.largest);
        part.sum *= exp_below(part.largest, next);
        part.largest = next;
      }
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
#pragma unroll
        for (int e = 0; e < kVec; ++e) part.sum += exp_below(packet[j][e], part.largest);
      }
    });
  }

  HONE_DEVICE void write_rest(const Row<T, c>& row, float largest, float scale) const {
    row.template visit<false, c.rest_shared>(kHeld, kept, -INFINITY, [&](int k, const RowPacket (&packet)[kBatch]) {
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        float result[kVec];
#pragma unroll
        for (int e = 0; e < kVec; ++e) result[e] = exp_below(packet[j][e], largest) * scale;
        if (row.has(k + j)) row.write(y, k + j, pack<T>(result));
      }
    });
  }

  /// Runs in a persistent block.
  HONE_DEVICE void stream(const Rows<T, c>& rows) const {
    using Stream = RowStream<T, c, Part, Part, 1>;
    __shared__ typename Stream::Shared shared;
    RowPacket packet[kHeld];
    float value[kHeld][kVec];
    const auto read = [&](const Row<T, c>& row) {
#pragma unroll
      for (int k = 0; k < kHeld; ++k) packet[k] = row.read(k, -INFINITY);
    };
    Stream{rows, shared}.run(
        [](const Row<T, c>&) {},
        [&](const Row<T, c>& row, const Row<T, c>&) {
          read(row);
          return part_of(packet, value, -INFINITY, -INFINITY, largest_of(packet, kLowest));
        },
        [](const Part& whole) { return Part{whole.largest, 1.0f / whole.sum}; },
        [&](const Row<T, c>& row, const Row<T, c>&, Part whole) {
          read(row);
#pragma unroll
          for (int k = 0; k < kHeld; ++k) {
#pragma unroll
            for (int e = 0; e < kVec; ++e) value[k][e] = exp_below(packet[k][e], whole.largest) * whole.sum;
            if (row.has(k)) row.write(y, k, pack<T>(value[k]));
          }
        });
  }

  /// Runs in a block of one group of rows.
  HONE_DEVICE void once(Rows<T, c> rows) const {
    rows.begin();
    const Row<T, c> row = rows.row();
    rows.prefetch_l2(row);
    hopper::grid_dependency_sync();
    RowPacket packet[kHeld];
#pragma unroll
    for (int k = 0; k < kHeld; ++k) packet[k] = row.read(k, -INFINITY);
    const float head = edge(row.in_head(), row.head_at()), tail = edge(row.in_tail(), row.tail_at());
    rows.wait_for_cluster();
    float largest = largest_of(packet, fmaxf(kLowest, fmaxf(head, tail)));
    if constexpr (!c.online) {
      row.template visit<c.rest_shared, false>(kHeld, kept, -INFINITY,
                                               [&](int, const RowPacket (&w)[kBatch]) { largest = largest_of(w, largest); });
      largest = reduce_row<c>(Part{largest, 0.0f}, slots[0]).largest;
    }
    float held[kHeld][kVec];
    Part part = part_of(packet, held, head, tail, largest);
    add_rest(row, part);
    part = reduce_row<c>(part, slots[1]);
    const float scale = 1.0f / part.sum, held_scale = scale * exp_below(largest, part.largest);
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
#pragma unroll
      for (int e = 0; e < kVec; ++e) held[k][e] *= held_scale;
      if (row.has(k)) row.write(y, k, pack<T>(held[k]));
    }
    if (row.in_head()) y[row.head_at()] = T(exp_below(head, part.largest) * scale);
    if (row.in_tail()) y[row.tail_at()] = T(exp_below(tail, part.largest) * scale);
    write_rest(row, part.largest, scale);
  }

  HONE_DEVICE void run(const Rows<T, c>& rows) const {
    if constexpr (c.stages > 0) {
      stream(rows);
    } else {
      once(rows);
    }
  }
};

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(threads_of(c), c.min_blocks)
void softmax(IN(p.rows * p.cols) const T* __restrict__ x, OUT(p.rows * p.cols) T* __restrict__ y, Problem p) {
  __shared__ ReduceStorage<Part> slots[2];
  SHARED_DYNAMIC(T, shared);
  Packet<T, vec<T>(c)>* kept = reinterpret_cast<Packet<T, vec<T>(c)>*>(shared) + threadIdx.x;
  Softmax<T, c>{x, y, slots, kept}.run({p.rows, p.cols, c.cluster, {x}, shared});
}
