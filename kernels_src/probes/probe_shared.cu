// Reads from shared memory without bank conflicts. y[i] = the largest number that the thread saw.
#include <hone/kernel.h>

struct Problem {
  long n = 1L << 20;  // threads
};

struct Config {
  TUNE(128, 256, 512, 1024) int block = 256;
  TUNE(4, 8) int in_flight = 8;  // loads that a thread issues before it looks at them
};

constexpr long kPackets = 512, kRounds = 512;  // packets of 16 bytes in a block's shared memory

constexpr bool valid(Problem p, Config c, Device d) { return c.block <= d.threads_per_block; }
constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block)}, .block = {c.block}}; }
constexpr Cost cost(Problem p) { return {.bytes = 16.0 * kRounds * p.n}; }

template <class T>
REFERENCE(p.n)
void probe_shared_reference(long i, const T* x, double* y, Problem p) {
  double most = (double)x[4 * (i % 32)];
  for (long packet = i % 32; packet < kPackets; packet += 32) {
    for (long j = 0; j < 4; ++j) {
      const double value = (double)x[4 * packet + j];
      most = value > most ? value : most;
    }
  }
  y[i] = most;
}

template <class T, Config c>
KERNEL DTYPES(f32) LAUNCH_BOUNDS(c.block) void probe_shared(IN(4 * kPackets) const T* x, OUT(p.n) T* y, Problem p) {
  __shared__ float4 packets[kPackets];
  for (int j = (int)threadIdx.x; j < (int)kPackets; j += c.block) packets[j] = reinterpret_cast<const float4*>(x)[j];
  __syncthreads();
  int packet = (int)threadIdx.x % (int)kPackets;
  float most = packets[packet].x;
  for (int round = 0; round < (int)kRounds; round += c.in_flight) {
    float4 held[c.in_flight];
#pragma unroll
    for (int j = 0; j < c.in_flight; ++j) {
      held[j] = packets[packet];
      packet = (packet + 32) % (int)kPackets;
    }
#pragma unroll
    for (int j = 0; j < c.in_flight; ++j) most = fmaxf(most, fmaxf(fmaxf(held[j].x, held[j].y), fmaxf(held[j].z, held[j].w)));
  }
  const long i = (long)blockIdx.x * c.block + threadIdx.x;
  if (i < p.n) y[i] = most;
}
