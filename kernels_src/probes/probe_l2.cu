// Reads from the L2 cache: each thread loads packets all over a buffer that the cache holds. y[i] = the largest number it saw.
#include <hone/kernel.h>

struct Problem {
  long packets = 1L << 19;  // of 16 bytes, in the buffer
  long threads = 1L << 18;
};

struct Config {
  TUNE(128, 256, 512, 1024) int block = 256;
  TUNE(4, 8, 16) int in_flight = 8;  // loads that a thread issues before it looks at them
};

constexpr long kRounds = 128, kStep = 7919L * 256;  // blocks of a multiprocessor meet no packet twice soon, so the L1 cache is no help

constexpr bool valid(Problem p, Config c, Device d) { return c.block <= d.threads_per_block; }
constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.threads, (long)c.block)}, .block = {c.block}}; }
constexpr Cost cost(Problem p) { return {.bytes = 16.0 * kRounds * p.threads}; }

template <class T>
REFERENCE(p.threads)
void probe_l2_reference(long i, const T* x, double* y, Problem p) {
  double most = (double)x[4 * (i % p.packets)];
  for (long round = 0; round < kRounds; ++round) {
    const long packet = (i + round * kStep) % p.packets;
    for (long j = 0; j < 4; ++j) {
      const double value = (double)x[4 * packet + j];
      most = value > most ? value : most;
    }
  }
  y[i] = most;
}

template <class T, Config c>
KERNEL DTYPES(f32) LAUNCH_BOUNDS(c.block) void probe_l2(IN(4 * p.packets) const T* x, OUT(p.threads) T* y, Problem p) {
  const long i = (long)blockIdx.x * c.block + threadIdx.x;
  if (i >= p.threads) return;
  const int packets = (int)p.packets, step = (int)(kStep % p.packets);
  int packet = (int)(i % p.packets);
  float most = x[4 * (long)packet];
  for (int round = 0; round < (int)kRounds; round += c.in_flight) {
    float4 held[c.in_flight];
#pragma unroll
    for (int j = 0; j < c.in_flight; ++j) {
      held[j] = *reinterpret_cast<const float4*>(x + 4 * (long)packet);
      packet += step;
      packet -= packet >= packets ? packets : 0;
    }
#pragma unroll
    for (int j = 0; j < c.in_flight; ++j) most = fmaxf(most, fmaxf(fmaxf(held[j].x, held[j].y), fmaxf(held[j].z, held[j].w)));
  }
  y[i] = most;
}
