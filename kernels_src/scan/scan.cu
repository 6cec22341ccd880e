// Inclusive scan (running sum): y[i] = x[0] + ... + x[i].
#include "../packet.h"
#include <hone/kernel_hopper.h>

struct Problem {
  long n = 1L << 26;
};

// A single-pass scan: it reads and writes every element once. A warp processes one tile at a time: it loads the tile into its part of
// shared memory, publishes the tile's sum, waits for the prefix (the sum of all tiles before), and stores its results from there. Warps do
// not wait for each other: while some wait for memory or a prefix, others work. One warp of each block (PrefixWarp) adds up the sums of all
// tiles of the array and answers the requests of its block. All prefix warps do the same work, so no chain leads from tile to tile. (On an
// H200, 1 GiB took 530 us. It took 686 us with decoupled look-back as in Merrill and Garland, "Single-pass parallel prefix scan with
// decoupled look-back", 2016, and 640 us with one prefix warp for all blocks.) Warps take tiles in order, so every tile before a waiting
// one has been started, however many blocks are resident. The order of additions is fixed: results are deterministic.
struct Config {
  TUNE(4, 8, 12, 16, 20, 24) int warps = 20;      // of a block, with a tile each; fewer where shared memory has no room
  TUNE(1, 3, 5, 7) int packets_per_thread = 7;    // adjacent packets of 16 bytes in a lane's registers: odd, so that 8 lanes that
                                                  // read at once use different banks
  TUNE(1, 2, 3, 4, 5, 6, 8) int steps = 3;        // rounds in which a warp scans its tile
  TUNE(4, 8) int tiles_per_lane = 8;              // tile statuses that a lane of the prefix warp loads at once, to cover their latency
};

template <class T> HONE_BOTH constexpr int vec() { return 16 / (int)sizeof(T); }
HONE_BOTH constexpr long tile_packets(Config c) { return 32L * c.packets_per_thread * c.steps; }
template <class T> HONE_BOTH constexpr long tile_elements(Config c) { return tile_packets(c) * vec<T>(); }

constexpr long kOwnBytes = 4096;  // static shared memory
HONE_BOTH constexpr long warps_of(Config c, Device d) {
  return min_of((long)c.warps, (d.shared_memory_per_block - kOwnBytes) / (tile_packets(c) * 16));
}
HONE_BOTH constexpr long shared_bytes(Config c, Device d) { return warps_of(c, d) * tile_packets(c) * 16; }

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.warps * 32 + 32 > d.threads_per_block) return false;                    // the device's limit
  return warps_of(c, d) >= 1;                                                   // a tile fits in shared memory
}

// Learned on an H200 in November 2026, at 2^28 elements in f32 and bf16. Short arrays take no time worth saving.
template <class T> constexpr bool likely(Problem p, Config c, Device d) {
  if (c.warps != 20 && warps_of(c, d) < c.warps) return false;                  // 20 gives the same
  if ((c.packets_per_thread * vec<T>() + 40) * (c.warps + 1) * 32 > d.registers_per_multiprocessor) return false;  // spills floats
  if (p.n > (1 << 24) && tile_packets(c) < 384) return false;                   // each block adds up the sums of all tiles: fewer, larger ones
  return p.n <= (1 << 24) || 2 * shared_bytes(c, d) >= d.shared_memory_per_block;  // tiles under way keep memory busy
}

template <class T> constexpr Launch launch(Problem p, Config c, Device d) {
  return {.grid = {min_of(ceil_div(p.n, tile_elements<T>(c)), d.multiprocessors)},
          .block = {warps_of(c, d) * 32 + 32},
          .shared = shared_bytes(c, d)};
}

template <class T> constexpr Cost cost(Problem p) {
  return {.flops = 1.0 * p.n, .bytes = 2.0 * p.n * sizeof(T), .sum_length = 1.0 * p.n};
}

constexpr long kReferenceChunk = 16384;  // about the square root of a large n: as many chunks as a chunk has elements

/// The first pass adds up each chunk, the second scans the sums of the chunks, the third scans each chunk from the sum before it. Between
/// the passes the last element of a chunk holds its sum. The order of additions changes the last bits of a double, far below every
/// tolerance.
template <class T> REFERENCE(ceil_div(p.n, kReferenceChunk)) void scan_reference_sums(long i, const T* x, double* y, Problem p) {
  const long begin = i * kReferenceChunk, end = min_of(begin + kReferenceChunk, p.n);
  double sum = 0;
  for (long at = begin; at < end; ++at) sum += (double)(float)x[at];
  y[end - 1] = sum;
}

template <class T> REFERENCE(1) void scan_reference_offsets(long, double* y, Problem p) {
  double sum = 0;
  for (long begin = 0; begin < p.n; begin += kReferenceChunk) {
    const long last = min_of(begin + kReferenceChunk, p.n) - 1;
    sum += y[last];
    y[last] = sum;
  }
}

/// Does not write the last element: it is right already, and the next chunk reads it meanwhile.
template <class T> REFERENCE(ceil_div(p.n, kReferenceChunk)) void scan_reference(long i, const T* x, double* y, Problem p) {
  const long begin = i * kReferenceChunk, end = min_of(begin + kReferenceChunk, p.n);
  double sum = i == 0 ? 0.0 : y[begin - 1];
  for (long at = begin; at < end - 1; ++at) y[at] = sum += (double)(float)x[at];
}

// ---- tile statuses and prefix requests --------------------------------------------------------------------------------------------------
// A status is 8 bytes, a tag and a sum, in one store: readers need no fence between the two. Tag 0: there is no sum yet.
using TileStatus = unsigned long long;

HONE_DEVICE TileStatus make_status(unsigned tag, float sum) { return (TileStatus)tag << 32 | __builtin_bit_cast(unsigned, sum); }
HONE_DEVICE unsigned tag_of(TileStatus status) { return (unsigned)(status >> 32); }
HONE_DEVICE float sum_of(TileStatus status) { return __builtin_bit_cast(float, (unsigned)status); }

/// A warp's request for the sum of all tiles before its tile. The tag of the answer is the tile's number plus 1.
struct PrefixRequest {
  int tile;
  TileStatus prefix;
};

HONE_DEVICE void yield_block() {
#if !defined(__CUDACC__)
  __nanosleep(1);  // on the cpu device a block may wait for the thread that runs another block
#endif
}

// ---- warps -----------------------------------------------------------------------------------------------------------------------------
HONE_DEVICE int lane() { return (int)(threadIdx.x % 32); }

/// The number of the next tile, which no other warp gets.
HONE_DEVICE int next_tile(int* from) {
  int number = 0;
  if (lane() == 0) number = atomicAdd(from, 1);
  return __shfl_sync(0xffffffffu, number, 0);
}

HONE_DEVICE float sum_lanes(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

/// Inclusive scans over the lanes of a warp, of `count` values at once: each step takes the latency of one shuffle.
template <int count> HONE_DEVICE void scan_lanes(float (&value)[count]) {
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
#pragma unroll
    for (int j = 0; j < count; ++j) {
      const float before = __shfl_up_sync(0xffffffffu, value[j], offset);
      if (lane() >= offset) value[j] += before;
    }
  }
}

/// The value of the lane before; 0 in the first lane.
HONE_DEVICE float from_lane_before(float value) {
  const float before = __shfl_up_sync(0xffffffffu, value, 1);
  return lane() == 0 ? 0.0f : before;
}

// ---- the prefix warp --------------------------------------------------------------------------------------------------------------------
/// Adds up the sums of all tiles in windows, of which a lane has every 32nd tile. It answers a request as soon as all sums before the tile
/// are known, and begins the next window when all sums of this one are: that fixes the order of additions.
template <Config c> struct PrefixWarp {
  static constexpr int kWindow = 32 * c.tiles_per_lane;
  const volatile TileStatus* statuses;
  int tiles;
  volatile PrefixRequest* requests;
  int warps;
  volatile float* prefixes;  // of the tiles of a window
  double before_window = 0;

  HONE_DEVICE void run() {
    for (int first = 0; first < tiles; first += kWindow) add_window(first);
  }

  HONE_DEVICE void add_window(int first) {
    const int mine = first + lane();
    TileStatus seen[c.tiles_per_lane];
#pragma unroll
    for (int j = 0; j < c.tiles_per_lane; ++j) seen[j] = mine + j * 32 < tiles ? 0 : make_status(1, 0.0f);
    for (int known = 0; known < kWindow;) {
#pragma unroll
      for (int j = 0; j < c.tiles_per_lane; ++j) {
        if (tag_of(seen[j]) == 0) seen[j] = statuses[mine + j * 32];
      }
      float through[c.tiles_per_lane], before_group = 0;
#pragma unroll
      for (int j = 0; j < c.tiles_per_lane; ++j) through[j] = sum_of(seen[j]);
      scan_lanes(through);
      known = 0;
#pragma unroll
      for (int j = 0; j < c.tiles_per_lane; ++j) {
        prefixes[j * 32 + lane()] = (float)before_window + (before_group + from_lane_before(through[j]));
        before_group += __shfl_sync(0xffffffffu, through[j], 31);
        const unsigned missing = __ballot_sync(0xffffffffu, tag_of(seen[j]) == 0);
        if (known == j * 32) known += missing == 0 ? 32 : __ffs((int)missing) - 1;
      }
      publish(first, known);
      if (known == kWindow) before_window += before_group;
      yield_block();
    }
  }

  /// Answers the requests of this block for the window's first `known` tiles and the next. A warp requests before it publishes its sum, so
  /// no request comes too late.
  HONE_DEVICE void publish(int first, int known) const {
    __threadfence_block();
    __syncwarp();
    if (lane() < warps) {
      const int tile = requests[lane()].tile, at = tile - first;
      if (at >= 0 && at <= known && at < kWindow) requests[lane()].prefix = make_status((unsigned)tile + 1, prefixes[at]);
    }
    __syncwarp();
  }
};

// ---- warps with tiles -------------------------------------------------------------------------------------------------------------------
template <class T, Config c> struct TileWarp {
  static constexpr int kVec = vec<T>();
  static constexpr long kTile = tile_elements<T>(c);
  using TilePacket = Packet<T, kVec>;
  const T* x;
  T* y;
  long n;
  volatile TileStatus* statuses;
  int* taken;
  T* shared_tile;  // of this warp
  hopper::Mbarrier* loaded;
  volatile PrefixRequest* request;
  int tile;
  int packets, whole_packets;  // of the tile; the last packet of the array may be incomplete: its elements move one by one

  HONE_DEVICE long begin() const { return tile * kTile; }
  HONE_DEVICE bool has_rest() const { return packets > whole_packets && lane() < kVec; }
  HONE_DEVICE long rest() const { return (long)whole_packets * kVec + lane(); }

  HONE_DEVICE void request_prefix() {
    if (lane() == 0) request->tile = tile;
    __threadfence_block();
  }

  HONE_DEVICE void load_tile(unsigned phase) {
    const long left = min_of(kTile, n - begin());
    const T* const from = x + begin();
    packets = (int)ceil_div(left, (long)kVec);
    whole_packets = (int)(left / kVec);
    if constexpr (!hopper::kBulkCopies) {
#pragma unroll 8
      for (int i = lane(); i < whole_packets; i += 32) store(shared_tile + i * kVec, load<kVec>(from + i * kVec));
    } else if (lane() == 0) {
      hopper::mbarrier_arrive_expect_tx(loaded, whole_packets * 16);
      if (whole_packets > 0) hopper::bulk_load<false>(shared_tile, from, whole_packets * 16, loaded);
    }
    if (has_rest()) shared_tile[rest()] = rest() < left ? from[rest()] : T(0.0f);
    __syncwarp();
    if constexpr (hopper::kBulkCopies) hopper::mbarrier_wait(loaded, phase);
  }

  HONE_DEVICE TilePacket packet(int i) const { return i < packets ? load_packet<T, kVec>(shared_tile + i * kVec) : TilePacket{}; }

  HONE_DEVICE float sum() const {
    float sums[kVec] = {};
#pragma unroll
    for (int i = 0; i < c.packets_per_thread * c.steps; ++i) {
      const TilePacket one = packet(i * 32 + lane());
#pragma unroll
      for (int e = 0; e < kVec; ++e) sums[e] += one[e];
    }
#pragma unroll
    for (int apart = kVec / 2; apart > 0; apart /= 2) {
#pragma unroll
      for (int e = 0; e < apart; ++e) sums[e] += sums[e + apart];
    }
    return sum_lanes(sums[0]);
  }

  HONE_DEVICE float prefix_of(float sum) const {
    TileStatus prefix = 0;
    if (lane() == 0) {
      statuses[tile] = make_status(1, sum);
      while (tag_of(prefix = request->prefix) != (unsigned)tile + 1) yield_block();
    }
    return __shfl_sync(0xffffffffu, sum_of(prefix), 0);
  }

  /// Scans the tile in place. `before_step` is a sum of this tile alone, so that small sums keep their digits.
  HONE_DEVICE void add_up(float before_tile) const {
    float before_step = 0;
#pragma unroll 1
    for (int step = 0; step < c.steps; ++step) {
      const int at = (step * 32 + lane()) * c.packets_per_thread;
      float value[c.packets_per_thread][kVec], through[c.packets_per_thread], lanes[1];  // up to an element, a packet, a lane
#pragma unroll
      for (int k = 0; k < c.packets_per_thread; ++k) {
        const TilePacket one = packet(at + k);
#pragma unroll
        for (int e = 0; e < kVec; ++e) value[k][e] = one[e] + (e == 0 ? 0.0f : value[k][max_of(e - 1, 0)]);
        through[k] = value[k][kVec - 1] + (k == 0 ? 0.0f : through[max_of(k - 1, 0)]);
      }
      lanes[0] = through[c.packets_per_thread - 1];
      scan_lanes(lanes);
      const float before = before_step + from_lane_before(lanes[0]);
#pragma unroll
      for (int k = 0; k < c.packets_per_thread; ++k) {
        const float before_packet = before_tile + (k == 0 ? before : before + through[max_of(k - 1, 0)]);
#pragma unroll
        for (int e = 0; e < kVec; ++e) value[k][e] += before_packet;
        if (at + k < packets) store(shared_tile + (at + k) * kVec, __builtin_bit_cast(Vector<T, kVec>, pack<T>(value[k])));
      }
      before_step += __shfl_sync(0xffffffffu, lanes[0], 31);
    }
  }

  /// Stores the tile, and takes the number of the next one meanwhile.
  HONE_DEVICE void store_tile() {
    T* const to = y + begin();
    if constexpr (hopper::kBulkCopies) hopper::fence_proxy_async();
    __syncwarp();
    if constexpr (!hopper::kBulkCopies) {
      for (int i = lane(); i < whole_packets; i += 32) store_global(to + i * kVec, load<kVec>(shared_tile + i * kVec));
    } else if (lane() == 0 && whole_packets > 0) {
      hopper::bulk_store<false>(to, shared_tile, whole_packets * 16);
    }
    if (has_rest() && begin() + rest() < n) to[rest()] = shared_tile[rest()];
    tile = next_tile(taken);
    if constexpr (hopper::kBulkCopies) hopper::bulk_wait_group_read<0>();
    __syncwarp();
  }

  HONE_DEVICE void run() {
    if (hopper::kBulkCopies && lane() == 0) hopper::mbarrier_init(loaded);
    tile = next_tile(taken);
    for (unsigned phase = 0; begin() < n; phase ^= 1) {
      request_prefix();
      load_tile(phase);
      add_up(prefix_of(sum()));
      store_tile();
    }
  }
};

// The first 8 bytes count the tiles that warps have taken, the others are tile statuses: one workspace takes one memset.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.warps * 32 + 32, 1)
void scan(IN(p.n) const T* __restrict__ x, OUT(p.n) T* __restrict__ y,
          WORKSPACE_ZEROED(1 + ceil_div(p.n, tile_elements<T>(c))) double* tiles, Problem p) {
  __shared__ hopper::Mbarrier loaded[c.warps];
  __shared__ PrefixRequest requests[c.warps];
  __shared__ float prefixes[32 * c.tiles_per_lane];
  SHARED_DYNAMIC(T, elements);
  volatile TileStatus* statuses = reinterpret_cast<volatile TileStatus*>(tiles + 1);
  const int warps = (int)(blockDim.x / 32) - 1, warp = (int)(threadIdx.x / 32);
  if (threadIdx.x < warps) requests[threadIdx.x] = {-1, 0};
  __syncthreads();
  if (warp < warps) {
    int* taken = reinterpret_cast<int*>(tiles);
    T* const shared_tile = elements + warp * tile_elements<T>(c);
    TileWarp<T, c>{x, y, p.n, statuses, taken, shared_tile, loaded + warp, requests + warp}.run();
  } else {
    PrefixWarp<c>{statuses, (int)ceil_div(p.n, tile_elements<T>(c)), requests, warps, prefixes}.run();
  }
}
