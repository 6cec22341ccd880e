// Segmented sum: y[s] is the sum of x from offsets[s] up to offsets[s + 1].
#include <hone/kernel.h>

struct Problem {
  long n = 1L << 22;         // elements
  long segments = 1L << 16;  // that they are in
};

struct Config {
  TUNE(32, 64, 128, 256) int block = 128;           // threads in a block
  TUNE(1, 2, 4, 8, 16, 32) int threads = 8;         // of a segment
};

constexpr bool valid(Problem p, Config c, Device d) { return c.block <= d.threads_per_block; }

constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.segments * c.threads, (long)c.block)}, .block = {c.block}}; }

template <class T> constexpr Cost cost(Problem p) { return {.flops = 1.0 * p.n, .bytes = p.n * sizeof(T) + 4.0 * p.segments, .sum_length = 1.0 * p.n}; }

// Ends of segments fall anywhere, so some are empty; the first begins at 0 and the last ends at n.
template <class T> INPUT(offsets) i32 offsets_input(long i, Random& random, Problem p) {
  if (i == 0) return 0;
  if (i == p.segments) return (i32)p.n;
  const double from = (double)(i - 1) / p.segments, to = (double)i / p.segments;  // in order, since each has a range of its own
  return (i32)((from + (to - from) * random.uniform()) * p.n);
}

template <class T> REFERENCE(p.segments) void segmented_sum_reference(long s, const T* x, const i32* offsets, double* y, Problem p) {
  double sum = 0;
  for (long i = offsets[s]; i < offsets[s + 1]; ++i) sum += (double)(float)x[i];
  y[s] = sum;
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.block)
void segmented_sum(IN(p.n) const T* x, IN(p.segments + 1) const i32* offsets, OUT(p.segments) T* y, Problem p) {
  const long s = ((long)blockIdx.x * c.block + threadIdx.x) / c.threads;
  float sum = 0;
  if (s < p.segments) {
    for (long i = offsets[s] + threadIdx.x % c.threads; i < offsets[s + 1]; i += c.threads) sum += (float)x[i];
  }
  for (int step = c.threads / 2; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
  if (s < p.segments && threadIdx.x % c.threads == 0) y[s] = T(sum);
}
