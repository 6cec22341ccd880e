// Transpose: y[c, r] = x[r, c].
#include "../words.h"

struct Problem {
  long rows = 8192, cols = 8192;
};

enum class Path {
  direct,    // from registers straight to y: no shared memory and no barrier, but short runs of bytes in y
  padded,    // through shared memory, a spare word after every vec columns against bank conflicts
  swizzled,  // through shared memory, words exchanged by xor instead of the spare ones
};

enum class Order { across, down, diagonal };

// A thread moves units of vec x vec elements: vec loads of vec elements, turned in registers, then vec stores of vec elements. Both sides
// so move whole words, whatever the element type; with vec = 1 this is the classic tiled transpose. Where vec does not divide an extent,
// rows start inside words: the same units then move element by element. On an H200, 16-byte words both ways (vec = 4 of f32 in tiles of
// 64 x 64, vec = 8 of 16 bits in 128 x 128), 256 threads and four blocks on a multiprocessor reach what a copy does.
struct Config {
  TUNE(16, 32, 64, 128) int tile_rows = 64;    // of x in a block's tile: bytes of one run in y
  TUNE(16, 32, 64, 128) int tile_cols = 64;    // of x in a block's tile: bytes of one run in x
  TUNE(32, 64, 128, 256, 512, 1024) int block = 256;  // threads in a block
  TUNE(1, 2, 4, 8) int vec = 4;                // elements in one load and in one store; 16 bytes is the widest access
  TUNE(Path::direct, Path::padded, Path::swizzled) Path path = Path::padded;
  TUNE(Order::across, Order::down, Order::diagonal) Order order = Order::down;  // of tiles in time: which cache lines and channels meet
  TUNE(false, true) bool stream_load = false;  // lines of x leave the caches first: nothing reads them again
  TUNE(false, true) bool stream_store = false; // the same for lines of y
  TUNE(1, 2, 4, 8) int min_blocks = 1;         // resident on a multiprocessor: caps the registers of a thread
};

HONE_BOTH constexpr int units(Config c) { return (c.tile_rows / c.vec) * (c.tile_cols / c.vec); }

template <class T> HONE_BOTH constexpr long shared_bytes(Config c) {
  if (c.path == Path::direct) return 0;
  const long words = c.tile_cols * (c.tile_rows / c.vec) + (c.path == Path::padded ? c.tile_cols / c.vec : 0);
  return words * c.vec * (long)sizeof(T);
}

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.vec * (int)sizeof(T) > 16) return false;                                           // the widest access there is
  if (c.vec > 4 && (p.rows % c.vec != 0 || p.cols % c.vec != 0)) return false;             // wide units are for whole aligned words
  if (c.block > d.threads_per_block) return false;                                         // the device's limit
  if (units(c) % c.block != 0) return false;                                               // every thread has the same number of units
  if (units(c) / c.block * c.vec * c.vec * (int)sizeof(T) > 256) return false;             // a thread's units fill registers: 64 at most
  if (c.block * c.min_blocks > d.threads_per_multiprocessor) return false;                 // they could not be resident
  if (shared_bytes<T>(c) > d.shared_memory_per_block) return false;                        // the device's limit
  return shared_bytes<T>(c) * c.min_blocks <= d.shared_memory_per_multiprocessor;          // they could not be resident
}

template <class T> constexpr Launch launch(Problem p, Config c) {
  return {.grid = {ceil_div(p.rows, (long)c.tile_rows) * ceil_div(p.cols, (long)c.tile_cols)},
          .block = {c.block},
          .shared = shared_bytes<T>(c)};
}

template <class T> constexpr Cost cost(Problem p) { return {.bytes = 2.0 * p.rows * p.cols * sizeof(T)}; }

template <class T> REFERENCE(p.rows * p.cols) void transpose_reference(long i, const T* x, double* y, Problem p) {
  y[i] = (double)(float)x[i % p.rows * p.cols + i / p.rows];
}

struct Tile {
  long row, col;  // of its first element in x
};

template <Config c> HONE_DEVICE Tile tile_of_block(Problem p) {
  const unsigned down = (unsigned)ceil_div(p.rows, (long)c.tile_rows), across = (unsigned)ceil_div(p.cols, (long)c.tile_cols);
  unsigned row = 0, col = 0;
  if constexpr (c.order == Order::down) {
    row = blockIdx.x % down;
    col = blockIdx.x / down;
  } else {
    row = blockIdx.x / across;
    col = blockIdx.x % across;
    if (c.order == Order::diagonal) col = (col + row) % across;
  }
  return {(long)row * c.tile_rows, (long)col * c.tile_cols};
}

/// Where the word of rows [vec * word, ...) of column `col` lies in shared memory. Lanes that store side by side differ in col / vec, lanes
/// that load side by side in word: both hit different banks.
template <Config c> HONE_DEVICE unsigned slot(unsigned col, unsigned word) {
  constexpr unsigned kWords = c.tile_rows / c.vec;
  return c.path == Path::padded ? col * kWords + word + col / c.vec : col * kWords + (word ^ (col / c.vec % kWords));
}

/// Where a thread's elements are: `aligned` says that vec divides both extents, so that a unit lies inside as a whole or not at all.
template <class T, Config c, bool aligned> struct Units {
  using Line = Word<T, c.vec>;
  static constexpr unsigned kAcross = c.tile_cols / c.vec, kDown = c.tile_rows / c.vec;
  static constexpr int kUnits = units(c) / c.block;
  const T* x;
  T* y;
  long rows, cols;
  Tile tile;

  HONE_DEVICE Line read(long row, long col) const {
    if constexpr (aligned) return load_word<T, c.vec, c.stream_load>(x + row * cols + col);
    Line line{};
#pragma unroll
    for (int e = 0; e < c.vec; ++e) {
      if (row < rows && col + e < cols) line.put(e, x[row * cols + col + e]);
    }
    return line;
  }
  HONE_DEVICE void write(long col, long row, const Line& line) const {
    if constexpr (aligned) {
      store_word<c.stream_store>(y + col * rows + row, line);
    } else {
#pragma unroll
      for (int e = 0; e < c.vec; ++e) {
        if (col < cols && row + e < rows) y[col * rows + row + e] = line.element(e);
      }
    }
  }
  /// Column e of a unit.
  HONE_DEVICE static Line turned(const Line (&unit)[c.vec], int e) {
    Line line{};
#pragma unroll
    for (int i = 0; i < c.vec; ++i) line.put(i, unit[i].element(e));
    return line;
  }

  HONE_DEVICE void move(Line* shared) const {
    Line in[kUnits][c.vec];
#pragma unroll
    for (int u = 0; u < kUnits; ++u) {
      const unsigned unit = u * c.block + threadIdx.x;
      const long row = tile.row + unit / kAcross * c.vec, col = tile.col + unit % kAcross * c.vec;
      if (row >= rows || col >= cols) continue;
#pragma unroll
      for (int e = 0; e < c.vec; ++e) in[u][e] = read(row + e, col);
    }
#pragma unroll
    for (int u = 0; u < kUnits; ++u) {
      const unsigned unit = u * c.block + threadIdx.x;
      const long row = tile.row + unit / kAcross * c.vec, col = tile.col + unit % kAcross * c.vec;
      if (row >= rows || col >= cols) continue;
#pragma unroll
      for (int e = 0; e < c.vec; ++e) {
        if constexpr (c.path == Path::direct) {
          write(col + e, row, turned(in[u], e));
        } else {
          shared[slot<c>(unit % kAcross * c.vec + e, unit / kAcross)] = turned(in[u], e);
        }
      }
    }
    if constexpr (c.path != Path::direct) {
      __syncthreads();
#pragma unroll
      for (int w = 0; w < kUnits * c.vec; ++w) {
        const unsigned word = w * c.block + threadIdx.x;
        const long row = tile.row + word % kDown * c.vec, col = tile.col + word / kDown;
        if (row < rows && col < cols) write(col, row, shared[slot<c>(word / kDown, word % kDown)]);
      }
    }
  }
};

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.block, c.min_blocks)
void transpose(IN(p.rows * p.cols) const T* __restrict__ x, OUT(p.rows * p.cols) T* __restrict__ y, Problem p) {
  using Line = Word<T, c.vec>;
  SHARED_DYNAMIC(Line, shared);
  const Tile tile = tile_of_block<c>(p);
  if (c.vec == 1 || (p.rows % c.vec == 0 && p.cols % c.vec == 0)) {
    Units<T, c, true>{x, y, p.rows, p.cols, tile}.move(shared);
  } else if constexpr (c.vec > 1 && c.vec <= 4) {
    Units<T, c, false>{x, y, p.rows, p.cols, tile}.move(shared);
  }
}
