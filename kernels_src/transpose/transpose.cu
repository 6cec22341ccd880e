// Transpose: y[c, r] = x[r, c].
#include "../packet.h"
#include <hone/kernel_hopper.h>

struct Problem {
  long rows = 8192, cols = 8192;
};

enum class Path {
  direct,    // from registers straight to y: no shared memory and no barrier, but short runs of bytes in y
  padded,    // through shared memory, with an unused packet after every vec columns against bank conflicts
  swizzled,  // through shared memory, with packets permuted by xor against bank conflicts
  tma,       // TMA moves whole tiles to and from shared memory (Hopper); threads transpose them there
};

enum class Order { across, down, diagonal };

// A thread moves units of vec x vec elements: vec loads of vec elements, a transpose in registers, then vec stores of vec elements. So
// loads and stores move whole packets, whatever the element type; with vec = 1 this is the classic tiled transpose. Where vec does not
// divide an extent, rows begin inside packets and units move element by element; units of more than 4 x 4 then bypass shared memory (their
// code would be too large). So any width is right for a ragged matrix, and a narrow one is fast. On an H200, loads and stores of 16 bytes
// in tiles of 256 x 256 bytes, with 256 threads and four blocks on a multiprocessor, reach the bandwidth of a copy.
struct Config {
  TUNE(64, 128, 256, 512) int run_in = 256;    // bytes of a tile's row in x
  TUNE(64, 128, 256, 512) int run_out = 256;   // bytes of a tile's row in y
  TUNE(32, 64, 128, 256, 512, 1024) int block = 256;  // threads in a block
  TUNE(2, 4, 8, 16) int bytes = 16;            // of one load and of one store; 16 is the widest access there is
  TUNE(Path::direct, Path::padded, Path::swizzled, Path::tma) Path path = Path::padded;
  TUNE(Order::across, Order::down, Order::diagonal) Order order = Order::down;  // of tiles: which lines and channels are used at once
  TUNE(false, true) bool stream_load = false;  // caches evict lines of x first: nothing reads them again
  TUNE(false, true) bool stream_store = false;  // the same for lines of y
  TUNE(1, 2, 4, 8) int min_blocks = 4;         // resident on a multiprocessor: caps the registers of a thread
};

template <class T> HONE_BOTH constexpr int vec(Config c) { return c.bytes / (int)sizeof(T); }
template <class T> HONE_BOTH constexpr int tile_rows(Config c) { return c.run_out / (int)sizeof(T); }
template <class T> HONE_BOTH constexpr int tile_cols(Config c) { return c.run_in / (int)sizeof(T); }
template <class T> HONE_BOTH constexpr int units(Config c) { return c.run_in / c.bytes * (c.run_out / c.bytes); }

constexpr int kLine = 128;  // bytes of a line of memory, and of a row of a box: the widest swizzle of TMA

template <class T> HONE_BOTH constexpr long shared_bytes(Config c) {
  if (c.path == Path::direct) return 0;
  if (c.path == Path::tma) return 1024L + c.run_in * tile_rows<T>(c);  // a swizzled box begins at a multiple of 1024
  const long packets = tile_cols<T>(c) * (c.run_out / c.bytes) + (c.path == Path::padded ? c.run_in / c.bytes : 0);
  return packets * c.bytes;
}

/// Bytes of all units of a thread, which are in its registers at once.
template <class T> constexpr int unit_bytes(Config c) { return units<T>(c) / c.block * vec<T>(c) * c.bytes; }

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.bytes < (int)sizeof(T)) return false;                                              // a packet holds at least one element
  if (c.block > d.threads_per_block) return false;                                         // the device's limit
  if (c.block * c.min_blocks > d.threads_per_multiprocessor) return false;                 // the same for several blocks
  if (shared_bytes<T>(c) + 16 > d.shared_memory_per_block) return false;                   // the device's limit
  if (units<T>(c) % c.block != 0) return false;                                            // every thread has the same number of units
  if (unit_bytes<T>(c) > 4 * 255) return false;                                            // a thread has 255 registers
  if (c.path == Path::tma && d.compute_capability != 90) return false;                     // TMA: Hopper
  if (c.path == Path::tma && (c.bytes != 16 || c.run_in < kLine || c.run_out < kLine)) return false;  // TMA moves lines of 128 bytes
  if (c.path == Path::tma && p.rows * sizeof(T) % 16 != 0) return false;                   // rows of y are whole packets
  if (c.path == Path::tma && p.cols * sizeof(T) % 16 != 0) return false;                   // rows of x are whole packets
  if (c.path == Path::tma && (tile_rows<T>(c) > 256 || tile_cols<T>(c) > 256)) return false;  // a box has at most 256 lines
  return c.path != Path::tma || !c.stream_load && !c.stream_store;                         // duplicate: TMA has no cache hint here
}

// Learned on an H200 in November 2026, at 4096x4096, 8192x8192 and 16384x1024 in f32 and bf16.
template <class T> constexpr bool likely(Problem p, Config c, Device d) {
  if (unit_bytes<T>(c) > 256) return false;                                                // 64 registers: with more, too few threads are resident
  return shared_bytes<T>(c) * c.min_blocks <= d.shared_memory_per_multiprocessor;          // so many blocks do not fit
}

template <class T> HONE_BOTH constexpr long tiles(Problem p, Config c) {
  return ceil_div(p.rows, (long)tile_rows<T>(c)) * ceil_div(p.cols, (long)tile_cols<T>(c));
}

template <class T> constexpr Launch launch_transpose(Problem p, Config c) {
  return {.grid = {tiles<T>(p, c)}, .block = {c.block}, .shared = shared_bytes<T>(c), .enabled = c.path != Path::tma, .overlap = true};
}
template <class T> constexpr Launch launch_transpose_boxes(Problem p, Config c) {
  return {.grid = {tiles<T>(p, c)}, .block = {c.block}, .shared = shared_bytes<T>(c), .enabled = c.path == Path::tma, .overlap = true};
}

template <class T> constexpr Cost cost(Problem p) { return {.bytes = 2.0 * p.rows * p.cols * sizeof(T)}; }

template <class T> REFERENCE(p.rows * p.cols) void transpose_reference(long i, const T* x, double* y, Problem p) {
  y[i] = (double)(float)x[i % p.rows * p.cols + i / p.rows];
}

struct Tile {
  long row, col;  // of its first element in x
};

template <class T, Config c> HONE_DEVICE Tile tile_of_block(Problem p) {
  const unsigned down = (unsigned)ceil_div(p.rows, (long)tile_rows<T>(c)), across = (unsigned)ceil_div(p.cols, (long)tile_cols<T>(c));
  unsigned row = 0, col = 0;
  if constexpr (c.order == Order::down) {
    row = blockIdx.x % down;
    col = blockIdx.x / down;
  } else {
    row = blockIdx.x / across;
    col = blockIdx.x % across;
    if (c.order == Order::diagonal) col = (col + row) % across;
  }
  return {(long)row * tile_rows<T>(c), (long)col * tile_cols<T>(c)};
}

/// The place in shared memory of the packet of rows [vec * packet, ...) of column `col`. Lanes that store at once differ in col / vec,
/// lanes that load at once differ in packet: both use different banks.
template <class T, Config c> HONE_DEVICE unsigned slot(unsigned col, unsigned packet) {
  constexpr unsigned kPackets = tile_rows<T>(c) / vec<T>(c);
  return c.path == Path::padded ? col * kPackets + packet + col / vec<T>(c) : col * kPackets + (packet ^ (col / vec<T>(c) % kPackets));
}

/// A thread's units. `aligned`: vec divides both extents, so that a unit lies inside of the matrix as a whole or not at all.
template <class T, Config c, bool aligned> struct Units {
  using Line = Packet<T, vec<T>(c)>;
  static constexpr unsigned kAcross = tile_cols<T>(c) / vec<T>(c), kDown = tile_rows<T>(c) / vec<T>(c);
  static constexpr int kUnits = units<T>(c) / c.block;
  const T* x;
  T* y;
  long rows, cols;
  Tile tile;

  HONE_DEVICE Line read(long row, long col) const {
    if constexpr (aligned) return load_packet<T, vec<T>(c), c.stream_load>(x + row * cols + col);
    Line line{};
#pragma unroll
    for (int e = 0; e < vec<T>(c); ++e) {
      if (row < rows && col + e < cols) line.put(e, x[row * cols + col + e]);
    }
    return line;
  }
  HONE_DEVICE void write(long col, long row, const Line& line) const {
    if constexpr (aligned) {
      store_packet<c.stream_store>(y + col * rows + row, line);
    } else {
#pragma unroll
      for (int e = 0; e < vec<T>(c); ++e) {
        if (col < cols && row + e < rows) y[col * rows + row + e] = line.element(e);
      }
    }
  }
  /// Column e of a unit, as a packet of y.
  HONE_DEVICE static Line turned(const Line (&unit)[vec<T>(c)], int e) {
    Line line{};
#pragma unroll
    for (int i = 0; i < vec<T>(c); ++i) line.put(i, unit[i].element(e));
    return line;
  }

  HONE_DEVICE void move(Line* shared) const {
    Line in[kUnits][vec<T>(c)];
#pragma unroll
    for (int u = 0; u < kUnits; ++u) {
      const unsigned unit = u * c.block + threadIdx.x;
      const long row = tile.row + unit / kAcross * vec<T>(c), col = tile.col + unit % kAcross * vec<T>(c);
      if (row >= rows || col >= cols) continue;
#pragma unroll
      for (int e = 0; e < vec<T>(c); ++e) in[u][e] = read(row + e, col);
    }
#pragma unroll
    for (int u = 0; u < kUnits; ++u) {
      const unsigned unit = u * c.block + threadIdx.x;
      const long row = tile.row + unit / kAcross * vec<T>(c), col = tile.col + unit % kAcross * vec<T>(c);
      if (row >= rows || col >= cols) continue;
#pragma unroll
      for (int e = 0; e < vec<T>(c); ++e) {
        if constexpr (c.path == Path::direct) {
          write(col + e, row, turned(in[u], e));
        } else {
          shared[slot<T, c>(unit % kAcross * vec<T>(c) + e, unit / kAcross)] = turned(in[u], e);
        }
      }
    }
    if constexpr (c.path != Path::direct) {
      __syncthreads();
#pragma unroll
      for (int w = 0; w < kUnits * vec<T>(c); ++w) {
        const unsigned packet = w * c.block + threadIdx.x;
        const long row = tile.row + packet % kDown * vec<T>(c), col = tile.col + packet / kDown;
        if (row < rows && col < cols) write(col, row, shared[slot<T, c>(packet / kDown, packet % kDown)]);
      }
    }
  }
};

/// Prefetches a tile, one thread for each line. (A bulk prefetch for each row took 0.2 us longer.)
template <class T, Config c> HONE_DEVICE void prefetch_tile(const T* x, Tile tile, Problem p) {
  constexpr int kLines = ceil_div(c.run_in, kLine);
  for (int i = (int)threadIdx.x; i < tile_rows<T>(c) * kLines; i += c.block) {
    const long row = tile.row + i / kLines, col = tile.col + i % kLines * (kLine / (int)sizeof(T));
    if (row < p.rows && col < p.cols) hopper::prefetch_l2_line(x + row * p.cols + col);
  }
}

/// Moves a tile element by element.
template <class T, Config c> HONE_DEVICE void move_elements(const T* x, T* y, Tile tile, Problem p) {
  for (int i = (int)threadIdx.x; i < tile_rows<T>(c) * tile_cols<T>(c); i += c.block) {
    const long row = tile.row + i % tile_rows<T>(c), col = tile.col + i / tile_rows<T>(c);
    if (row < p.rows && col < p.cols) y[col * p.rows + row] = x[row * p.cols + col];
  }
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.block, c.min_blocks)
void transpose(IN(p.rows * p.cols) const T* __restrict__ x, OUT(p.rows * p.cols) T* __restrict__ y, Problem p) {
  using Line = Packet<T, vec<T>(c)>;
  SHARED_DYNAMIC(Line, shared);
  const Tile tile = tile_of_block<T, c>(p);
  const bool is_first = blockIdx.x < hopper::kPrefetchBytes / (c.run_in * tile_rows<T>(c));
  if (hopper::prefetch_pays(p.rows * p.cols * (long)sizeof(T)) && is_first) prefetch_tile<T, c>(x, tile, p);
  hopper::grid_dependency_sync();
  if constexpr (c.path == Path::tma) {
    return;
  } else if (p.rows % vec<T>(c) == 0 && p.cols % vec<T>(c) == 0) {
    Units<T, c, true>{x, y, p.rows, p.cols, tile}.move(shared);
  } else if constexpr (vec<T>(c) <= 4) {
    Units<T, c, false>{x, y, p.rows, p.cols, tile}.move(shared);
  } else {
    move_elements<T, c>(x, y, tile, p);
  }
}

#if defined(HONE_HOPPER)
/// A tile in shared memory, in lines of 128 bytes: boxes of x before the transpose, boxes of y after it. TMA's swizzle puts packet w of
/// line l of a box in place w ^ l % 8. Eight lanes share a square of 8 x 8 units and take its units on a diagonal: their packets are in
/// different places both when they read units and when they write them.
template <class T, Config c> struct Boxes {
  using Line = Packet<T, vec<T>(c)>;
  static constexpr int kUnits = units<T>(c) / c.block, kSquaresAcross = c.run_in / kLine, kVec = vec<T>(c);
  unsigned char* tile;

  HONE_DEVICE Line& packet(int box, int lines, int line, int place) const {
    return *reinterpret_cast<Line*>(tile + (box * lines + line) * kLine + (place ^ line % 8) * 16);
  }

  HONE_DEVICE void turn() const {
    Line in[kUnits][kVec];
#pragma unroll
    for (int u = 0; u < kUnits; ++u) {
      const int unit = u * c.block + (int)threadIdx.x, lane = unit % 8, other = (lane + unit / 8) % 8, square = unit / 64;
      const int across = square % kSquaresAcross, down = square / kSquaresAcross;
#pragma unroll
      for (int e = 0; e < kVec; ++e) in[u][e] = packet(across, tile_rows<T>(c), (down * 8 + other) * kVec + e, lane);
    }
    __syncthreads();
#pragma unroll
    for (int u = 0; u < kUnits; ++u) {
      const int unit = u * c.block + (int)threadIdx.x, lane = unit % 8, other = (lane + unit / 8) % 8, square = unit / 64;
      const int across = square % kSquaresAcross, down = square / kSquaresAcross;
#pragma unroll
      for (int e = 0; e < kVec; ++e) {
        packet(down, tile_cols<T>(c), (across * 8 + lane) * kVec + e, other) = Units<T, c, true>::turned(in[u], e);
      }
    }
  }
};
#endif

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.block, c.min_blocks)
void transpose_boxes(TENSOR_MAP(x, .size = {c.path == Path::tma ? p.cols : 0, p.rows}, .box = {kLine / sizeof(T), tile_rows<T>(c)},
                                .swizzle = kLine) const __grid_constant__ TensorMap x_map,
                     TENSOR_MAP(y, .size = {c.path == Path::tma ? p.rows : 0, p.cols}, .box = {kLine / sizeof(T), tile_cols<T>(c)},
                                .swizzle = kLine) const __grid_constant__ TensorMap y_map,
                     Problem p) {
#if defined(HONE_HOPPER)
  if constexpr (c.path == Path::tma) {
    constexpr int kAcross = kLine / (int)sizeof(T), kTileBytes = c.run_in * tile_rows<T>(c);
    SHARED_DYNAMIC(unsigned char, memory);
    __shared__ hopper::u64 arrived;
    unsigned char* const shared = memory + (1024 - hopper::shared_address(memory) % 1024) % 1024;
    const hopper::u32 at = hopper::shared_address(shared), barrier = hopper::shared_address(&arrived);
    const Tile tile = tile_of_block<T, c>(p);
    if (threadIdx.x == 0) {  // the only thread that starts accesses to device memory
      hopper::mbarrier_init(barrier, 1);
      hopper::fence_mbarrier_init();
      hopper::grid_dependency_sync();
      hopper::mbarrier_arrive_expect_tx(barrier, kTileBytes);
      for (int box = 0; box < c.run_in / kLine; ++box) {
        hopper::tma_load(at + box * tile_rows<T>(c) * kLine, x_map, (int)tile.col + box * kAcross, (int)tile.row, barrier);
      }
    }
    __syncthreads();
    hopper::mbarrier_wait(barrier, 0);
    Boxes<T, c>{shared}.turn();
    hopper::fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int box = 0; box < c.run_out / kLine; ++box) {
        hopper::tma_store(y_map, (int)tile.row + box * kAcross, (int)tile.col, at + box * tile_cols<T>(c) * kLine);
      }
      hopper::bulk_commit_group();
      hopper::bulk_wait_group_read<0>();  // the block must not end before TMA has read its shared memory
    }
  }
#endif
}
