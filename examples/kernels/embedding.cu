// Embedding lookup: row i of y is row index[i] of the table.
#include <hone/kernel.h>

struct Problem {
  long n = 1L << 16;     // rows that are looked up
  long cols = 1024;      // elements of a row
  long rows = 1L << 17;  // of the table
};

struct Config {
  TUNE(32, 64, 128, 256, 512) int block = 128;  // threads in a block
  TUNE(1, 2, 4, 8) int vec = 1;                 // elements in one access: 16 bytes at most
  TUNE(1, 2, 4) int rows = 1;                   // of y in a block
};

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.block > d.threads_per_block) return false;  // the device's limit
  if (c.vec * sizeof(T) > 16) return false;         // the widest access there is
  return p.cols % c.vec == 0;                       // no access reaches beyond a row
}

constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.rows)}, .block = {c.block}}; }

template <class T> constexpr Cost cost(Problem p) { return {.bytes = 2.0 * p.n * p.cols * sizeof(T)}; }

template <class T> REFERENCE(p.n* p.cols) void embedding_reference(long i, const T* table, const i32* index, double* y, Problem p) {
  y[i] = (double)(float)table[index[i / p.cols] * p.cols + i % p.cols];
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.block)
void embedding(IN(p.rows * p.cols) const T* table, IN(p.n, .below = p.rows) const i32* index, OUT(p.n * p.cols) T* y, Problem p) {
  for (int r = 0; r < c.rows; ++r) {
    const long row = (long)blockIdx.x * c.rows + r;
    if (row >= p.n) return;
    const T* from = table + index[row] * p.cols;
    for (long col = threadIdx.x * c.vec; col < p.cols; col += (long)c.block * c.vec) store(y + row * p.cols + col, load<c.vec>(from + col));
  }
}
