// Copy: y[i] = x[i]. Its bandwidth is the ceiling for memory-bound kernels.
#include "../packet.h"
#include <hone/kernel_hopper.h>

struct Problem {
  long n = 1L << 26;
};

// A tile is block * in_flight accesses: a thread starts all its loads before its first store. With stages, one thread of a block copies
// tiles through shared memory by bulk copies. On an H200, many blocks with small tiles (2 to 4 KiB) in registers are fastest: they sweep
// memory in order, as fast as the driver's own copy.
struct Config {
  TUNE(64, 128, 256, 512, 1024) int block = 128;  // threads in a block
  TUNE(2, 4, 8, 16) int bytes = 16;               // of one access: 16 is the widest there is; the others show what width gains
  TUNE(1, 2, 4, 8, 16) int in_flight = 1;         // accesses a thread issues before it waits, to cover the latency of memory
  TUNE(0, 2, 4, 8, 16) int resident = 0;          // persistent blocks for each multiprocessor, which loop over tiles; 0: a block for each tile
  TUNE(0, 2, 4) int stages = 0;                   // tiles in shared memory for bulk copies; 0: tiles go through registers
  TUNE(false, true) bool stream_load = false;     // caches evict lines of x first: nothing reads them again
  TUNE(false, true) bool stream_store = false;    // the same for lines of y
};

template <class T> HONE_BOTH constexpr long tile_elements(Config c) { return (long)c.block * c.in_flight * c.bytes / (long)sizeof(T); }

HONE_BOTH constexpr long shared_bytes(Config c) { return (long)c.stages * c.block * c.in_flight * c.bytes; }

constexpr long kBulkThreads = 32;  // with stages, one thread works: blocks have one warp

template <class T> constexpr long tiles_of(Problem p, Config c) { return ceil_div(p.n, tile_elements<T>(c)); }

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.bytes < (int)sizeof(T)) return false;                                // an access holds at least one element
  if (c.block > d.threads_per_block) return false;                           // the device's limit
  if (c.stages > 0 && d.compute_capability < 90) return false;               // bulk copies: Hopper
  if (c.stages > 0 && c.bytes < 16) return false;                            // bulk copies move packets of 16 bytes
  if (shared_bytes(c) + 1024 > d.shared_memory_per_block) return false;      // the device's limit
  if (c.stages > 0 && c.in_flight > 1 && c.block < 1024) return false;       // duplicate: only block * in_flight counts
  if (c.stages > 0 && c.resident > 0 && d.multiprocessors * c.resident >= tiles_of<T>(p, c)) return false;  // duplicate: a block for each tile
  return c.resident < 4 || d.multiprocessors * (c.resident / 2) < tiles_of<T>(p, c);  // duplicate: half as many give a block for each tile, too
}

// Learned on an H200 in November 2026, at 2^24 and 2^26 elements in f32 and bf16.
template <class T> constexpr bool likely(Problem p, Config c, Device d) {
  if (c.stages == 0 && c.in_flight * c.bytes > 128) return false;            // loads in flight occupy registers: at most 32
  if (c.stages > 0 && c.resident == 0) return false;                         // blocks of one tile need no stages
  if (c.stages == 0 && c.resident * c.block > d.threads_per_multiprocessor) return false;  // blocks that are not resident only queue
  if ((shared_bytes(c) + 2048) * c.resident > d.shared_memory_per_multiprocessor) return false;  // the same for shared memory
  return c.resident * d.multiprocessors * tile_elements<T>(c) <= p.n;        // a persistent block has at least one tile
}

template <class T> constexpr Launch launch(Problem p, Config c, Device d) {
  const long tiles = tiles_of<T>(p, c);
  return {.grid = {c.resident == 0 ? tiles : min_of(tiles, d.multiprocessors * c.resident)},
          .block = {c.stages > 0 ? kBulkThreads : c.block},
          .shared = shared_bytes(c),
          .overlap = true};
}

template <class T> constexpr Cost cost(Problem p) { return {.bytes = 2.0 * p.n * sizeof(T)}; }

template <class T> REFERENCE(p.n) void copy_reference(long i, const T* x, double* y, Problem p) { y[i] = (double)(float)x[i]; }

/// Copies `packets` packets of 16 bytes by bulk copies: a tile is loaded while those before it are stored.
template <Config c> HONE_DEVICE void copy_in_bulk(const uint4* from, uint4* to, long packets, uint4* stage, hopper::Mbarrier* barriers) {
  constexpr long kTile = (long)c.block * c.in_flight;
  const long step = gridDim.x * kTile, begin = blockIdx.x * kTile;
  const auto bytes = [&](long first) { return (unsigned)(min_of(kTile, packets - first) * 16); };
  const auto fetch = [&](long first, int into) {
    hopper::mbarrier_arrive_expect_tx(&barriers[into], bytes(first));
    hopper::bulk_load<c.stream_load>(stage + into * kTile, from + first, bytes(first), &barriers[into]);
  };
  for (int s = 0; s < c.stages; ++s) hopper::mbarrier_init(&barriers[s]);
  for (int s = 0; s < c.stages && begin + s * step < packets; ++s) fetch(begin + s * step, s);
  int into = 0, phase = 0;
  for (long first = begin; first < packets; first += step) {
    hopper::mbarrier_wait(&barriers[into], phase);
    hopper::bulk_store<c.stream_store>(to + first, stage + into * kTile, bytes(first));
    const int left = into == 0 ? c.stages - 1 : into - 1;  // the stage of the tile before: its store began one tile ago
    const long next = first + (c.stages - 1) * step;
    if (first > begin && next < packets) {
      hopper::bulk_wait_group_read<1>();
      fetch(next, left);
    }
    into = into + 1 == c.stages ? 0 : into + 1;
    phase ^= into == 0;
  }
  hopper::bulk_wait_group_read<0>();
}

/// Copies the tile that begins at packet `first`.
template <class T, Config c> HONE_DEVICE void copy_tile(const T* x, T* y, long first, long packets) {
  constexpr int kVec = c.bytes / (int)sizeof(T);
  const bool whole = first + (long)c.block * c.in_flight <= packets;
  const long begin = first + threadIdx.x;
  Packet<T, kVec> held[c.in_flight];
#pragma unroll
  for (int j = 0; j < c.in_flight; ++j) {
    if (whole || begin + j * c.block < packets) held[j] = load_packet<T, kVec, c.stream_load>(x + (begin + j * c.block) * kVec);
  }
#pragma unroll
  for (int j = 0; j < c.in_flight; ++j) {
    if (whole || begin + j * c.block < packets) store_packet<c.stream_store>(y + (begin + j * c.block) * kVec, held[j]);
  }
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.block) void copy(IN(p.n) const T* __restrict__ x, OUT(p.n) T* __restrict__ y, Problem p) {
  constexpr int kVec = c.bytes / (int)sizeof(T);
  const long packets = p.n / kVec;
  if (threadIdx.x == 0 && hopper::prefetch_pays(p.n * (long)sizeof(T))) {
    const long first = blockIdx.x * tile_elements<T>(c);
    hopper::prefetch_l2(x + first, min_of(tile_elements<T>(c), p.n - first) * (long)sizeof(T));
  }
  hopper::grid_dependency_sync();
  if constexpr (c.stages > 0) {
    __shared__ hopper::Mbarrier barriers[c.stages];
    SHARED_DYNAMIC(uint4, stage);
    if (threadIdx.x == 0) copy_in_bulk<c>(reinterpret_cast<const uint4*>(x), reinterpret_cast<uint4*>(y), packets, stage, barriers);
  } else {
    constexpr long kTile = (long)c.block * c.in_flight;
    long first = blockIdx.x * kTile;
    do {
      copy_tile<T, c>(x, y, first, packets);
      first += gridDim.x * kTile;
    } while (c.resident > 0 && first < packets);
  }
  const long tail = packets * kVec + threadIdx.x;  // fewer elements than a packet
  if (blockIdx.x == 0 && tail < p.n) y[tail] = x[tail];
}
