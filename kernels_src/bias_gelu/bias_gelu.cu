// Bias and activation in one: y[r, c] = gelu(x[r, c] + bias[c]), with gelu(v) = v * (1 + erf(v / sqrt(2))) / 2.
#include "../activations.h"
#include "../packet.h"
#include <hone/kernel_hopper.h>

struct Problem {
  long rows = 4096, cols = 4096;
};

// A block has one tile of block * in_flight accesses: a thread starts all its loads before its first store. The bias comes from the L1
// cache. On an H200, persistent blocks that loop over tiles were at least 10 % slower, and cache hints gained nothing.
struct Config {
  TUNE(64, 128, 256, 512, 1024) int block = 128;    // threads in a block
  TUNE(2, 4, 8, 16) int bytes = 16;                 // of one access: 16 is the widest there is
  TUNE(1, 2, 4, 8) int in_flight = 2;               // accesses a thread issues before it waits, to cover the latency of memory
};

template <class T> HONE_BOTH constexpr long tile_elements(Config c) { return (long)c.block * c.in_flight * c.bytes / (long)sizeof(T); }

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.bytes < (int)sizeof(T)) return false;                                  // an access holds at least one element
  return c.block <= d.threads_per_block;                                       // the device's limit
}

// Learned on an H200 in November 2026, at 8192x8192 in f32 and bf16.
template <class T> constexpr bool likely(Problem p, Config c) {
  if (c.bytes < 16 && p.rows * p.cols > (1 << 20)) return false;               // narrow packets are for few elements
  return c.in_flight * (c.bytes / (int)sizeof(T)) <= 32;                       // loads in flight become floats in registers
}

template <class T> constexpr Launch launch(Problem p, Config c) {
  return {.grid = {ceil_div(p.rows * p.cols, tile_elements<T>(c))}, .block = {c.block}, .overlap = true};
}

template <class T> constexpr Cost cost(Problem p) {
  return {.flops = 20.0 * p.rows * p.cols, .bytes = (2.0 * p.rows + 1) * p.cols * sizeof(T)};
}

template <class T> REFERENCE(p.rows * p.cols) void bias_gelu_reference(long i, const T* x, const T* bias, double* y, Problem p) {
  const double v = (double)(float)x[i] + (double)(float)bias[i % p.cols];
  y[i] = 0.5 * v * (1.0 + erf(v * 0.70710678118654752));
}

/// The bias of a packet's elements. Where a row ends inside a packet (`whole` is false), the elements behind belong to the next row.
template <class T, int vec, bool whole> HONE_DEVICE Packet<T, vec> bias_at(const T* bias, unsigned column, unsigned cols) {
  if constexpr (whole) {
    return load_packet<T, vec>(bias + column);
  } else {
    float packet[vec];
#pragma unroll
    for (int e = 0; e < vec; ++e) {
      packet[e] = (float)bias[column];
      column = column + 1 == cols ? 0 : column + 1;
    }
    return pack<T>(packet);
  }
}

template <class T, Config c, bool whole> HONE_DEVICE void tile(const T* x, const T* bias, T* y, long packets, unsigned cols) {
  constexpr int kVec = c.bytes / (int)sizeof(T), kPackets = c.block * c.in_flight;
  const long first = blockIdx.x * (long)kPackets, begin = (first + threadIdx.x) * kVec;
  const int left = (int)min_of(packets - first, (long)kPackets) - (int)threadIdx.x;
  if (threadIdx.x == 0) hopper::prefetch_l2(x + begin, (long)left * c.bytes);
  if (threadIdx.x == 0 && blockIdx.x == 0) hopper::prefetch_l2(bias, cols * (long)sizeof(T));
  hopper::grid_dependency_sync();
  Packet<T, kVec> packet[c.in_flight], b[c.in_flight];
#pragma unroll
  for (int j = 0; j < c.in_flight; ++j) {
    if (j * c.block < left) packet[j] = load_packet<T, kVec>(x + begin + j * c.block * kVec);
  }
  const unsigned column = (unsigned)(first * kVec % cols) + threadIdx.x * kVec;  // a division takes as long as 10 elements
#pragma unroll
  for (int j = 0; j < c.in_flight; ++j) {
    unsigned at = column + j * c.block * kVec;
    if (at >= cols) at %= cols;  // seldom
    b[j] = bias_at<T, kVec, whole>(bias, at, cols);
  }
#pragma unroll
  for (int j = 0; j < c.in_flight; ++j) {
    if (j * c.block >= left) continue;
    float result[kVec];
#pragma unroll
    for (int e = 0; e < kVec; ++e) result[e] = gelu<T>(packet[j][e] + b[j][e]);
    store_packet<false>(y + begin + j * c.block * kVec, pack<T>(result));
  }
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.block)
void bias_gelu(IN(p.rows * p.cols) const T* __restrict__ x, IN(p.cols) const T* __restrict__ bias, OUT(p.rows * p.cols) T* __restrict__ y,
               Problem p) {
  constexpr int kVec = c.bytes / (int)sizeof(T);
  const long packets = p.rows * p.cols / kVec;
  if (p.cols % kVec == 0) {
    tile<T, c, true>(x, bias, y, packets, (unsigned)p.cols);
    return;
  }
  tile<T, c, false>(x, bias, y, packets, (unsigned)p.cols);
  const long tail = packets * kVec + threadIdx.x;  // fewer elements than a packet
  if (blockIdx.x == 0 && tail < p.rows * p.cols) y[tail] = T(gelu<T>((float)x[tail] + (float)bias[tail % p.cols]));
}
