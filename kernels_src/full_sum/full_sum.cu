// Sum of an array: y[0] = sum over i of x[i].
#include "../packet.h"

struct Problem {
  long n = 1L << 28;
};

constexpr long kMostBlocks = 8192;  // the last block adds up their sums: 32 for each of 256 multiprocessors, more than any device has

// Every block adds up tiles of block * in_flight accesses and stores its sum; the last block to finish adds up the sums, always in the same
// order. That saves a second launch, and unlike atomic additions it is deterministic.
struct Config {
  TUNE(64, 128, 256, 512, 1024) int block = 256;  // threads in a block
  TUNE(4, 8, 16) int bytes = 16;                  // of one load: 16 is the widest there is
  TUNE(1, 2, 4, 8, 16) int in_flight = 4;         // loads a thread issues before it adds, to cover the latency of memory
  TUNE(1, 2, 4, 8, 16, 32) int resident = 8;      // blocks for each multiprocessor: more than fit balance the end of the grid
  TUNE(false, true) bool contiguous = false;      // a block's tiles are contiguous; else the blocks sweep the array together
  TUNE(false, true) bool stream_load = false;     // caches evict lines of x first: nothing reads them again
};

template <class T> HONE_BOTH constexpr long tile_elements(Config c) { return (long)c.block * c.in_flight * c.bytes / (long)sizeof(T); }

/// As many blocks as there are whole tiles, at most `resident` for each multiprocessor.
template <class T> constexpr long blocks_of(Problem p, Config c, int resident, Device d) {
  return max_of(1L, min_of(min_of(kMostBlocks, d.multiprocessors * resident), p.n / tile_elements<T>(c)));
}

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.bytes < (int)sizeof(T)) return false;                                    // a load holds at least one element
  if (c.block > d.threads_per_block) return false;                               // the device's limit
  return c.resident == 1 || blocks_of<T>(p, c, c.resident, d) > blocks_of<T>(p, c, c.resident / 2, d);  // duplicate: the number of blocks is the same
}

constexpr bool likely(Problem p, Config c) {
  return c.in_flight * c.bytes <= 128;  // loads in flight occupy registers: at most 32 (H200, 2026-11, 2^28 elements)
}

template <class T> constexpr Launch launch(Problem p, Config c, Device d) {
  return {.grid = {blocks_of<T>(p, c, c.resident, d)}, .block = {c.block}};
}

template <class T> constexpr Cost cost(Problem p) { return {.flops = 1.0 * p.n, .bytes = 1.0 * p.n * sizeof(T), .sum_length = 1.0 * p.n}; }

constexpr long kReferenceShare = 4096;  // elements that one index of the reference adds up

/// The order of the additions varies: that changes the last bits of a double, far below every tolerance.
template <class T> REFERENCE(1) void full_sum_reference_zero(long, double* y) { y[0] = 0; }
template <class T> REFERENCE(ceil_div(p.n, kReferenceShare)) void full_sum_reference(long i, const T* x, double* y, Problem p) {
  double sum = 0;
  for (long at = i; at < p.n; at += ceil_div(p.n, kReferenceShare)) sum += (double)(float)x[at];
  atomicAdd(y, sum);
}

/// The sum over the block's threads, in all of them.
template <Config c> HONE_DEVICE double sum_of_block(double sum, double* of_warp) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  __syncthreads();
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = of_warp[threadIdx.x % (c.block / 32)];
#pragma unroll
  for (int offset = c.block / 64; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  return sum;
}

/// float is accurate enough for the sum of a tile, but not for the sum of many tiles, whose error would grow with n.
template <class T, Config c> HONE_DEVICE double sum_of_thread(const T* x, long n) {
  constexpr int kVec = c.bytes / (int)sizeof(T);
  constexpr long kTile = (long)c.block * c.in_flight;
  const long packets = n / kVec, tiles = ceil_div(packets, kTile), share = ceil_div(tiles, (long)gridDim.x);
  const long begin = c.contiguous ? blockIdx.x * share : blockIdx.x, end = c.contiguous ? min_of(begin + share, tiles) : tiles;
  double sum = 0;
  for (long tile = begin; tile < end; tile += c.contiguous ? 1 : gridDim.x) {
    const long first = tile * kTile + threadIdx.x;
    const bool whole = first - threadIdx.x + kTile <= packets;
    Packet<T, kVec> packet[c.in_flight];
#pragma unroll
    for (int j = 0; j < c.in_flight; ++j) {
      const bool there = whole || first + j * c.block < packets;
      packet[j] = there ? load_packet<T, kVec, c.stream_load>(x + (first + j * c.block) * kVec) : splat<T, kVec>(0.0f);
    }
    float of_tile = 0;
#pragma unroll
    for (int j = 0; j < c.in_flight; ++j) {
      float of_packet = 0;
#pragma unroll
      for (int e = 0; e < kVec; ++e) of_packet += packet[j][e];
      of_tile += of_packet;
    }
    sum += of_tile;
  }
  const long tail = packets * kVec + threadIdx.x;  // fewer elements than a packet
  return blockIdx.x == 0 && tail < n ? sum + (double)(float)x[tail] : sum;
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.block)
void full_sum(IN(p.n) const T* __restrict__ x, OUT(1) T* __restrict__ y, WORKSPACE(kMostBlocks) double* sums, WORKSPACE_ZEROED(1) int* done,
              Problem p) {
  __shared__ double of_warp[32];
  __shared__ bool last;
  double sum = sum_of_block<c>(sum_of_thread<T, c>(x, p.n), of_warp);
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = sum;
    __threadfence();  // other blocks see the sum before they see the count
    last = atomicAdd(done, 1) == (int)gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  sum = 0;
  for (int b = (int)threadIdx.x; b < (int)gridDim.x; b += c.block) sum += __ldcg(sums + b);
  sum = sum_of_block<c>(sum, of_warp);
  if (threadIdx.x == 0) y[0] = T((float)sum);
}
