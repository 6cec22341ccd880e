// Sparse matrix times vector: rows of values and columns between offsets (CSR), of very different lengths.
#include <hone/kernel.h>

struct Problem {
  long rows = 1L << 17;     // of the matrix
  long cols = 1L << 17;     // and its columns
  long entries = 1L << 21;  // that are not zero
};

struct Config {
  TUNE(32, 64, 96, 128, 192, 256, 512, 1024) int block = 128;  // threads in a block
  TUNE(1, 2, 4, 8, 16, 32) int lanes = 8;                      // threads of a row
  TUNE(1, 2, 4, 8) int rows = 1;                               // that a group of lanes goes through
  TUNE(1, 2, 3, 4, 8) int unroll = 1;                          // entries of a thread in flight
  TUNE(0, 1, 2) int load = 0;                                  // of values and columns: plain, read-only, streaming
  TUNE(false, true) bool gather_read_only = false;             // the same of the vector's elements
  TUNE(0, 1, 2, 4, 8, 16, 32) int persistent = 0;  // blocks of a multiprocessor that take rows in turn; 0: a block for each part
  TUNE(false, true) bool adjacent = false;         // the rows of a group lie one behind the other
  TUNE(0, 16, 24, 32, 64) OPTION("--maxrregcount={}") int register_limit = 0;  // that a thread may have; 0: no limit
};

constexpr long groups_of(Problem p, Config c) { return ceil_div(p.rows, (long)c.rows * (c.block / c.lanes)); }

constexpr bool valid(Problem p, Config c, Device d) {
  if (c.block > d.threads_per_block) return false;                                            // the device's limit
  if (c.persistent * c.block > d.threads_per_multiprocessor) return false;                    // what can be resident
  if (c.persistent > 0 && d.multiprocessors * c.persistent >= groups_of(p, c)) return false;  // duplicate: a block for each part
  return c.rows > 1 || !c.adjacent;                                                           // duplicate: one row
}

constexpr Launch launch(Problem p, Config c, Device d) {
  return {.grid = {c.persistent > 0 ? min_of(groups_of(p, c), (long)(d.multiprocessors * c.persistent)) : groups_of(p, c)},
          .block = {c.block}};
}

constexpr Cost cost(Problem p) {
  return {.flops = 2.0 * p.entries, .bytes = 8.0 * p.entries + 8.0 * p.rows + 4.0 * p.cols, .sum_length = 1.0 * p.entries};
}

// Most rows are short, one in 64 has half of the entries; the first begins at 0 and the last ends at the end.
INPUT(offsets) i32 offsets_input(long i, Random& random, Problem p) {
  if (i == 0) return 0;
  if (i >= p.rows) return (i32)p.entries;
  const double jitter = i % 64 == 63 || i % 64 == 0 ? 0.0 : 0.5 * random.uniform() / p.rows;
  const double even = (double)i / p.rows, block = (double)(i / 64 * 64) / p.rows;
  return (i32)((0.5 * even + 0.5 * block + 0.5 * jitter) * p.entries);
}

REFERENCE(p.rows)
void spmv_reference(long r, const i32* offsets, const i32* columns, const float* values, const float* x, double* y, Problem p) {
  double sum = 0;
  for (long i = offsets[r]; i < offsets[r + 1]; ++i) sum += (double)values[i] * x[columns[i]];
  y[r] = sum;
}

template <int how, class V>
HONE_DEVICE V loaded(const V* from) {
  if constexpr (how == 1)
    return __ldg(from);
  else if constexpr (how == 2)
    return __ldcs(from);
  else
    return *from;
}

template <Config c>
KERNEL LAUNCH_BOUNDS(c.block) void spmv(IN(p.rows + 1) const i32* offsets, IN(p.entries, .below = p.cols) const i32* columns,
                                        IN(p.entries) const float* values, IN(p.cols) const float* x, OUT(p.rows) float* y, Problem p) {
  constexpr int kGroups = c.block / c.lanes;
  const int lane = threadIdx.x % c.lanes, group = threadIdx.x / c.lanes;
  for (long part = blockIdx.x; part * kGroups * c.rows < p.rows; part += gridDim.x) {
    for (int k = 0; k < c.rows; ++k) {
      const long r = part * kGroups * c.rows + (c.adjacent ? group * c.rows + k : k * kGroups + group);
      float sum = 0;
      if (r < p.rows) {
        const int end = offsets[r + 1];
#pragma unroll c.unroll
        for (int i = offsets[r] + lane; i < end; i += c.lanes) {
          sum += loaded<c.load>(values + i) * loaded < c.gather_read_only ? 1 : 0 > (x + loaded<c.load>(columns + i));
        }
      }
      for (int step = c.lanes / 2; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
      if (r < p.rows && lane == 0) y[r] = sum;
    }
  }
}
