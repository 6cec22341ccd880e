// Transpose: y[c, r] = x[r, c].
#include "../overlap.h"
#include "../packet.h"
#include <hone/kernel_hopper.h>

struct Problem {
  long rows = 8192, cols = 8192;
};

enum class Path {
  direct,    // from registers straight to y: no shared memory and no barrier, but short runs of bytes in y
  padded,    // through shared memory, a spare word after every vec columns against bank conflicts
  swizzled,  // through shared memory, words exchanged by xor instead of the spare ones
  tma,       // TMA moves whole tiles in and out of shared memory (Hopper); threads only turn what is there
};

enum class Order { across, down, diagonal };

// A thread moves units of vec x vec elements: vec loads of vec elements, turned in registers, then vec stores of vec elements. Both sides
// so move whole words, whatever the element type; with vec = 1 this is the classic tiled transpose. Where vec does not divide an extent,
// rows start inside words: the same units then move element by element, units of more than 4 x 4 past shared memory (they would be too much
// code), so that a ragged matrix is right at any width and fast at a narrow one. On an H200, 16-byte words both ways in tiles of
// 256 x 256 bytes, 256 threads and four blocks on a multiprocessor reach what a copy does.
struct Config {
  TUNE(64, 128, 256, 512) int run_in = 256;    // bytes of a tile's row in x
  TUNE(64, 128, 256, 512) int run_out = 256;   // bytes of a tile's row in y
  TUNE(32, 64, 128, 256, 512, 1024) int block = 256;  // threads in a block
  TUNE(2, 4, 8, 16) int bytes = 16;            // of one load and of one store; 16 is the widest access there is
  TUNE(Path::direct, Path::padded, Path::swizzled, Path::tma) Path path = Path::padded;
  TUNE(Order::across, Order::down, Order::diagonal) Order order = Order::down;  // of tiles in time: which cache lines and channels meet
  TUNE(false, true) bool stream_load = false;  // lines of x leave the caches first: nothing reads them again
  TUNE(false, true) bool stream_store = false; // the same for lines of y
  TUNE(1, 2, 4, 8) int min_blocks = 4;         // resident on a multiprocessor: caps the registers of a thread
};

template <class T> HONE_BOTH constexpr int vec(Config c) { return c.bytes / (int)sizeof(T); }
template <class T> HONE_BOTH constexpr int tile_rows(Config c) { return c.run_out / (int)sizeof(T); }
template <class T> HONE_BOTH constexpr int tile_cols(Config c) { return c.run_in / (int)sizeof(T); }
template <class T> HONE_BOTH constexpr int units(Config c) { return c.run_in / c.bytes * (c.run_out / c.bytes); }

constexpr int kLine = 128;  // bytes of a line of memory, and of a row of a box: the widest that the engine swizzles

template <class T> HONE_BOTH constexpr long shared_bytes(Config c) {
  if (c.path == Path::direct) return 0;
  if (c.path == Path::tma) return 1024L + c.run_in * tile_rows<T>(c);  // a swizzle begins at a multiple of 1024
  const long words = tile_cols<T>(c) * (c.run_out / c.bytes) + (c.path == Path::padded ? c.run_in / c.bytes : 0);
  return words * c.bytes;
}

/// Bytes that a thread has in registers, all of its units at once.
template <class T> constexpr int unit_bytes(Config c) { return units<T>(c) / c.block * vec<T>(c) * c.bytes; }

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.bytes < (int)sizeof(T)) return false;                                              // a word holds at least one element
  if (c.block > d.threads_per_block) return false;                                         // the device's limit
  if (c.block * c.min_blocks > d.threads_per_multiprocessor) return false;                 // the same for several blocks
  if (shared_bytes<T>(c) + 16 > d.shared_memory_per_block) return false;                   // the device's limit
  if (units<T>(c) % c.block != 0) return false;                                            // every thread has the same number of units
  if (unit_bytes<T>(c) > 4 * 255) return false;                                            // of 255 registers
  if (c.path == Path::tma && d.compute_capability != 90) return false;                  // the copy engine came with Hopper
  if (c.path == Path::tma && (c.bytes != 16 || c.run_in < kLine || c.run_out < kLine)) return false;  // it moves lines of 128 bytes
  if (c.path == Path::tma && p.rows * sizeof(T) % 16 != 0) return false;                // to whole words
  if (c.path == Path::tma && p.cols * sizeof(T) % 16 != 0) return false;                // from whole words
  if (c.path == Path::tma && (tile_rows<T>(c) > 256 || tile_cols<T>(c) > 256)) return false;  // 256 lines at once
  return c.path != Path::tma || !c.stream_load && !c.stream_store;                      // duplicate: it is not told
}

// Learned on an H200 in November 2026, at 4096x4096, 8192x8192 and 16384x1024 in f32 and bf16.
template <class T> constexpr bool likely(Problem p, Config c, Device d) {
  if (unit_bytes<T>(c) > 256) return false;                                                // 64 registers: more leave too few threads
  return shared_bytes<T>(c) * c.min_blocks <= d.shared_memory_per_multiprocessor;          // they could not be resident
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

/// Where the word of rows [vec * word, ...) of column `col` lies in shared memory. Lanes that store side by side differ in col / vec, lanes
/// that load side by side in word: both hit different banks.
template <class T, Config c> HONE_DEVICE unsigned slot(unsigned col, unsigned word) {
  constexpr unsigned kWords = tile_rows<T>(c) / vec<T>(c);
  return c.path == Path::padded ? col * kWords + word + col / vec<T>(c) : col * kWords + (word ^ (col / vec<T>(c) % kWords));
}

/// Where a thread's elements are: `aligned` says that vec divides both extents, so that a unit lies inside as a whole or not at all.
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
  /// Column e of a unit.
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
        const unsigned word = w * c.block + threadIdx.x;
        const long row = tile.row + word % kDown * vec<T>(c), col = tile.col + word / kDown;
        if (row < rows && col < cols) write(col, row, shared[slot<T, c>(word / kDown, word % kDown)]);
      }
    }
  }
};

/// A thread for a line of the tile. (A bulk copy for a row of it took 0.2 us longer.)
template <class T, Config c> HONE_DEVICE void prefetch_tile(const T* x, Tile tile, Problem p) {
  constexpr int kLines = ceil_div(c.run_in, kLine);
  for (int i = (int)threadIdx.x; i < tile_rows<T>(c) * kLines; i += c.block) {
    const long row = tile.row + i / kLines, col = tile.col + i % kLines * (kLine / (int)sizeof(T));
    if (row < p.rows && col < p.cols) prefetch_l2_line(x + row * p.cols + col);
  }
}

/// A tile element by element.
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
  const bool prefetches = is_short(p.rows * p.cols * (long)sizeof(T)) && blockIdx.x < kPrefetchBytes / (c.run_in * tile_rows<T>(c));
  if (prefetches) prefetch_tile<T, c>(x, tile, p);
  grid_dependency_sync();
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
/// A tile in shared memory, lines of 128 bytes: as boxes of x before it is turned, as boxes of y after. Word w of line l of a box is in
/// place w ^ l % 8, as the engine swizzles. Of a thread's units eight lanes have the same 8 x 8 units, on a diagonal: their words differ in place
/// both when units are read and when they are written.
template <class T, Config c> struct Boxes {
  using Line = Packet<T, vec<T>(c)>;
  static constexpr int kUnits = units<T>(c) / c.block, kSquaresAcross = c.run_in / kLine, kVec = vec<T>(c);
  unsigned char* tile;

  HONE_DEVICE Line& word(int box, int lines, int line, int place) const {
    return *reinterpret_cast<Line*>(tile + (box * lines + line) * kLine + (place ^ line % 8) * 16);
  }

  HONE_DEVICE void turn() const {
    Line in[kUnits][kVec];
#pragma unroll
    for (int u = 0; u < kUnits; ++u) {
      const int unit = u * c.block + (int)threadIdx.x, lane = unit % 8, other = (lane + unit / 8) % 8, square = unit / 64;
      const int across = square % kSquaresAcross, down = square / kSquaresAcross;
#pragma unroll
      for (int e = 0; e < kVec; ++e) in[u][e] = word(across, tile_rows<T>(c), (down * 8 + other) * kVec + e, lane);
    }
    __syncthreads();
#pragma unroll
    for (int u = 0; u < kUnits; ++u) {
      const int unit = u * c.block + (int)threadIdx.x, lane = unit % 8, other = (lane + unit / 8) % 8, square = unit / 64;
      const int across = square % kSquaresAcross, down = square / kSquaresAcross;
#pragma unroll
      for (int e = 0; e < kVec; ++e) {
        word(down, tile_cols<T>(c), (across * 8 + lane) * kVec + e, other) = Units<T, c, true>::turned(in[u], e);
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
      if (threadIdx.x == 0) {  // the only one that has the memory written and read
      hopper::mbarrier_init(barrier, 1);
      hopper::fence_mbarrier_init();
      grid_dependency_sync();
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
      hopper::bulk_wait_group_read<0>();  // the block's memory must stay until it was read
    }
  }
#endif
}
