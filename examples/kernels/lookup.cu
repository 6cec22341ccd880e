// Lookup: each byte of an image goes through a table of 256 entries in constant memory.
#include <hone/kernel.h>

struct Problem {
  long n = 1L << 24;  // bytes of the image
};

struct Config {
  TUNE(64, 128, 256, 512) int block = 256;  // threads in a block
  TUNE(1, 4, 16) int vec = 1;               // bytes of a thread, in one access
  TUNE(false, true) bool shared = false;    // constant memory serves one address of a warp at a time: random bytes may do better from a copy
};

CONSTANT(256) u8 table[256];

constexpr bool valid(Problem p, Config c, Device d) {
  if (c.block > d.threads_per_block) return false;  // the device's limit
  return p.n % c.vec == 0;                          // no access reaches beyond the end
}

constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block * c.vec)}, .block = {c.block}}; }

constexpr Cost cost(Problem p) { return {.bytes = 2.0 * p.n}; }

REFERENCE(p.n) void lookup_reference(long i, const u8* x, const u8* table, double* y, Problem p) { y[i] = table[x[i]]; }

template <Config c>
KERNEL LAUNCH_BOUNDS(c.block)
void lookup(IN(p.n) const u8* x, OUT(p.n) u8* y, Problem p) {
  __shared__ u8 copy[256];
  if constexpr (c.shared) {
    for (int k = threadIdx.x; k < 256; k += c.block) copy[k] = table[k];
    __syncthreads();
  }
  const long first = ((long)blockIdx.x * c.block + threadIdx.x) * c.vec;
  if (first >= p.n) return;
  Vector<u8, c.vec> line = load<c.vec>(x + first);
#pragma unroll
  for (int e = 0; e < c.vec; ++e) line[e] = c.shared ? copy[line[e]] : table[line[e]];
  store(y + first, line);
}
