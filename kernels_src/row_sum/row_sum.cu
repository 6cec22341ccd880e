// Sum of each row: y[r] = sum over c of x[r, c]. One row is a full sum.
#include "../rows.h"

struct Problem {
  long rows = 8192, cols = 8192;
};

// rows.h says how a block reads its rows, and which part of a row it has.
struct Config {
  TUNE(64, 128, 256, 512, 1024) int block = 256;      // threads in a block
  TUNE(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024) int row_threads = 256;  // that share a row: a block has block / row_threads rows
  TUNE(1, 2, 4) int cluster = 1;                      // blocks that share a row and reduce it through distributed shared memory
  TUNE(2, 4, 8, 16) int bytes = 16;                   // of one load: 16 is the widest there is
  TUNE(1, 2, 4, 8) int in_flight = 2;                 // loads a thread issues before it adds, to cover the latency of memory
  TUNE(false, true) bool unaligned_rows = true;       // rows may begin and end inside a packet; without that code fewer registers
  TUNE(false, true) bool bulk = false;                // a bulk copy loads rows into shared memory; else each thread loads its packets
  TUNE(false, true) bool stream_load = true;          // caches evict lines of x first: nothing reads them again, and they
                                                      // evict no others: 44 to 37 us for 128 MiB on an H200
  TUNE(0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024) int split = 0;  // slices of a row that a second pass adds up; 0: by the shape
  TUNE(1, 2, 4, 8) int min_blocks = 1;                // resident on a multiprocessor: caps the registers of a thread
};

template <class T> HONE_BOTH constexpr int vec(Config c) { return c.bytes / (int)sizeof(T); }

/// Slices of a row: 1024 blocks in all, but at least 32 elements for each thread. Takes the Config by reference: NVRTC 13 reads the fields
/// of a Config by value from device memory, which delays a block's first load by a microsecond.
HONE_BOTH constexpr long default_slices(Problem p, const Config& c) {
  if (p.rows > 512) return 1;  // most problems: the divisions below would delay a block's first load
  return max_of(1L, min_of((long)(1024 / (int)p.rows), p.cols / (32 * c.block)) / c.cluster);
}
HONE_BOTH constexpr long slices_of(Problem p, const Config& c) { return c.split > 0 ? c.split : default_slices(p, c); }
HONE_BOTH constexpr long parts_of(Problem p, const Config& c) { return slices_of(p, c) * c.cluster; }

template <class T> HONE_BOTH constexpr long shared_bytes(Problem p, Config c) {
  return c.bulk ? bulk_bytes<T>(c.block / c.row_threads, p.cols, parts_of(p, c)) : 0;
}

/// Units of work, one for each cluster (or block).
HONE_BOTH constexpr long groups_of(Problem p, Config c) { return ceil_div(p.rows, (long)(c.block / c.row_threads)) * slices_of(p, c); }

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.bytes < (int)sizeof(T)) return false;                        // a load holds at least one element
  if (c.block > d.threads_per_block) return false;                   // the device's limit
  if (c.block * c.min_blocks > d.threads_per_multiprocessor) return false;  // the same for several blocks
  if (c.row_threads > c.block) return false;                         // a block holds whole rows (or slices of one)
  if (c.cluster > 1 && c.row_threads < c.block) return false;        // a cluster works on one row
  if (c.cluster > 1 && d.compute_capability < 90) return false;      // clusters: Hopper
  if (c.bulk && d.compute_capability > 0 && d.compute_capability < 90) return false;  // bulk copies: Hopper
  if (c.bulk && c.bytes < 16) return false;                          // bulk copies move packets of 16 bytes
  if (c.bulk && p.cols < 2 * vec<T>(c)) return false;                // every row holds a whole packet
  if (c.bulk && slices_of(p, c) > 1 && c.row_threads < c.block) return false;  // slices of several rows are not contiguous
  if (!c.unaligned_rows && p.cols % vec<T>(c) != 0) return false;    // rows begin inside a packet
  if (c.unaligned_rows && c.row_threads < vec<T>(c)) return false;   // a thread has at most one element of a row's ends
  if (shared_bytes<T>(p, c) + 2048 > d.shared_memory_per_block) return false;  // the device's limit, beside the partial sums
  if (groups_of(p, c) * c.cluster > 0x7fffffff) return false;        // the device's limit
  if (16 * p.rows * slices_of(p, c) > d.memory) return false;        // slices occupy at most a quarter of memory
  return !c.unaligned_rows || vec<T>(c) > 1;                         // duplicate: no row begins inside a packet of one element
}

// Learned on an H200 in November 2026, at 4096x4096, 8192x8192, 16384x1024 and 128x131072 in f32 and bf16, and at ragged neighbours.
template <class T>
constexpr bool likely(Problem p, Config c, Device d) {
  if ((c.cluster > 1 || c.split > 1) && p.rows > 512) return false;  // there are enough rows for all multiprocessors
  if (c.unaligned_rows && p.cols % vec<T>(c) == 0) return false;     // all rows begin at packets
  if (c.bytes < 16 && p.cols > 2048) return false;                   // narrow packets are for short rows
  if (c.min_blocks > 1 && c.block * c.min_blocks < 512) return false;  // as many blocks are resident without this limit
  if (c.row_threads < vec<T>(c)) return false;                       // so few threads have too many packets each
  if (c.row_threads < 32 && p.cols > 16384) return false;            // one thread's long sum loses digits, and its loads share no lines
  if (slices_of(p, c) > 1 && c.row_threads < c.block) return false;  // rows so short that a block holds several are not worth a split
  if (c.split > 0 && c.split == default_slices(p, c)) return false;  // 0 gives the same
  if (c.row_threads < c.block && p.cols / vec<T>(c) > 64 * c.row_threads) return false;  // all threads of a block should share such a long row
  const long per_step = (long)c.row_threads * c.cluster * vec<T>(c);  // elements of a row read by one load of every thread
  if (c.row_threads > 256 && per_step > p.cols) return false;        // some threads would have no element
  if (c.row_threads > 32 && per_step >= 2 * p.cols && p.rows > 1024) return false;  // half of all threads would have none
  if (c.cluster > 1 && per_step > p.cols) return false;              // the same for a cluster
  if (c.in_flight > 4 && c.in_flight * per_step > 2 * p.cols) return false;  // loads that only pad
  if (c.split > 1 && c.split * c.in_flight * per_step > 2 * p.cols) return false;  // a slice is worth a block
  return (shared_bytes<T>(p, c) + 3072) * c.min_blocks <= d.shared_memory_per_multiprocessor;  // more blocks only queue
}

template <class T> constexpr Launch launch(Problem p, Config c) {
  return {.grid = {groups_of(p, c) * c.cluster},
          .block = {c.block},
          .cluster = {c.cluster},
          .shared = shared_bytes<T>(p, c),
          .overlap = true};
}

constexpr Launch launch_row_sum_slices(Problem p, Config c) {
  return {.grid = {ceil_div(p.rows, 8L)}, .block = {256}, .enabled = slices_of(p, c) > 1, .overlap = true};
}

template <class T> constexpr Cost cost(Problem p) {
  return {.flops = 1.0 * p.rows * p.cols, .bytes = 1.0 * (p.rows * p.cols + p.rows) * sizeof(T), .sum_length = 1.0 * p.cols};
}

template <class T> REFERENCE(p.rows) void row_sum_reference(long r, const T* x, double* y, Problem p) {
  double sum = 0;
  for_each_in_row(x + r * p.cols, p.cols, [&](long, double value) { sum += value; });
  y[r] = sum;
}

struct Sum {
  float sum;

  HONE_DEVICE static Sum combine(Sum a, Sum b) { return {a.sum + b.sum}; }
};

/// The sum of this thread's elements of `row`.
template <class T, Config c> HONE_DEVICE Sum sum_of_thread(const Row<T, c>& row, const T* x) {
  float sums[c.in_flight] = {};
  if (row.in_head()) sums[0] = (float)x[row.head_at()];
  if (row.in_tail()) sums[0] += (float)x[row.tail_at()];
  row.template visit<false, false>(0, nullptr, 0.0f, [&](int, const Packet<T, vec<T>(c)> (&packet)[c.in_flight]) {
#pragma unroll
    for (int j = 0; j < c.in_flight; ++j) {
#pragma unroll
      for (int e = 0; e < vec<T>(c); ++e) sums[j] += packet[j][e];
    }
  });
  float sum = 0;
#pragma unroll
  for (int j = 0; j < c.in_flight; ++j) sum += sums[j];
  return {sum};
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.block, c.min_blocks)
void row_sum(IN(p.rows * p.cols) const T* __restrict__ x, OUT(p.rows) T* __restrict__ y,
             WORKSPACE(p.rows * slices_of(p, c)) float* __restrict__ slices, Problem p) {
  __shared__ ReduceStorage<Sum> slots;
  SHARED_DYNAMIC(T, shared);
  const long parts = parts_of(p, c);
  Rows<T, c> rows = {p.rows, p.cols, parts, {x}, shared};
  rows.begin();
  const Row<T, c> row = rows.row();
  rows.prefetch_l2(row);
  hopper::grid_dependency_sync();
  const Sum part_sum = sum_of_thread<T, c>(row, x);
  rows.wait_for_cluster();
  const float sum = reduce_row<c>(part_sum, slots).sum;
  if (row.index >= p.rows || row.lane != 0 || rows.part % c.cluster != 0) return;
  if (parts == c.cluster) {
    y[row.index] = T(sum);
  } else {
    slices[(row.index * parts + rows.part) / c.cluster] = sum;
  }
}

/// Adds up the slices of each row, one warp for each row.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(256)
void row_sum_slices(OUT(p.rows) T* __restrict__ y, WORKSPACE(p.rows * slices_of(p, c)) float* __restrict__ slices, Problem p) {
  const long r = (long)blockIdx.x * 8 + (int)threadIdx.x / 32;
  const long count = slices_of(p, c);
  hopper::grid_dependency_sync();
  float sum = 0;
  for (long s = (int)threadIdx.x % 32; s < count && r < p.rows; s += 32) sum += slices[r * count + s];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0 && r < p.rows) y[r] = T(sum);
}
