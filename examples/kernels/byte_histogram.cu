// How often each byte occurs.
#include <hone/kernel.h>

struct Problem {
  long n = 1L << 26;  // bytes
};

struct Config {
  TUNE(64, 128, 256, 512) int block = 256;  // threads in a block
  TUNE(1, 4, 16) int vec = 1;               // bytes in one access
  TUNE(1, 4, 16) int items = 4;             // accesses of a thread
};

constexpr bool valid(Problem p, Config c, Device d) {
  if (c.block > d.threads_per_block) return false;  // the device's limit
  return p.n % c.vec == 0;                          // no access reaches beyond the end
}

constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block * c.vec * c.items)}, .block = {c.block}}; }

constexpr Cost cost(Problem p) { return {.flops = 1.0 * p.n, .bytes = 1.0 * p.n}; }

REFERENCE(p.n) void byte_histogram_reference(long i, const u8* x, double* bins, Problem p) { atomicAdd(&bins[x[i]], 1.0); }

template <Config c>
KERNEL LAUNCH_BOUNDS(c.block)
void byte_histogram(IN(p.n) const u8* x, OUT_ZEROED(256) u32* bins, Problem p) {
  __shared__ u32 counts[256];
  for (int bin = threadIdx.x; bin < 256; bin += c.block) counts[bin] = 0;
  __syncthreads();
  for (int item = 0; item < c.items; ++item) {
    const long at = (((long)blockIdx.x * c.items + item) * c.block + threadIdx.x) * c.vec;
    if (at < p.n) {
      const Vector<u8, c.vec> bytes = load<c.vec>(x + at);
#pragma unroll
      for (int e = 0; e < c.vec; ++e) atomicAdd(&counts[bytes[e]], 1u);
    }
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < 256; bin += c.block) {
    if (counts[bin] != 0) atomicAdd(&bins[bin], counts[bin]);
  }
}
