// Heat in a chip: steps of a stencil of five points, several of them in one launch, on a tile in shared memory with a halo.
#include <hone/kernel.h>

struct Problem {
  long rows = 1024, cols = 1024;  // cells
  RANGE(1, 10) long steps = 10;   // of the simulation
};

struct Config {
  TUNE(8, 16, 32, 64) int width = 32;       // cells of a tile that a block writes, along a row
  TUNE(4, 8, 16, 32) int height = 8;        // and its rows
  TUNE(1, 2, 3, 4, 5, 6, 8, 10) int fused = 1;  // steps in one launch: each costs the tile a halo of one cell
};

constexpr int tile_cells(Config c) { return (c.width + 2 * c.fused) * (c.height + 2 * c.fused); }

constexpr bool valid(Problem p, Config c, Device d) {
  if (c.width * c.height > d.threads_per_block) return false;                          // the device's limit
  if (2 * tile_cells(c) * (long)sizeof(float) > d.shared_memory_per_block) return false;  // two copies of the tile
  return c.fused <= p.steps;                                                           // the same code and launch as p.steps
}

constexpr Launch launch(Problem p, Config c) {
  return {.grid = {ceil_div(p.cols, (long)c.width), ceil_div(p.rows, (long)c.height)},
          .block = {c.width, c.height},
          .shared = 2 * tile_cells(c) * (long)sizeof(float),
          .repeat = ceil_div(p.steps, (long)c.fused)};
}

constexpr Cost cost(Problem p) { return {.flops = 10.0 * p.rows * p.cols * p.steps, .bytes = 12.0 * p.rows * p.cols, .sum_length = 5.0 * p.steps}; }

constexpr float kAcross = 0.1f, kDown = 0.1f, kSink = 0.0125f, kAmbient = 80.0f;  // conductances, and what the cells cool towards

// A cell after one step. Beyond an edge the chip is as warm as at it.
template <class Number>
HONE_DEVICE Number stepped(Number centre, Number left, Number right, Number up, Number down, Number power) {
  return centre + power + (Number)kAcross * (left + right - 2 * centre) + (Number)kDown * (up + down - 2 * centre) +
         (Number)kSink * ((Number)kAmbient - centre);
}

// A cell's value depends on the diamond of cells within p.steps of it: each is computed from its own square of cells.
REFERENCE(p.rows * p.cols) void hotspot_reference(long i, const float* heat, const float* power, double* y, Problem p) {
  constexpr long kMost = 10, kSide = 2 * kMost + 1;
  double square[2][kSide * kSide];
  const long row = i / p.cols, col = i % p.cols;
  auto inside = [](long at, long count) { return at < 0 ? 0 : at >= count ? count - 1 : at; };
  for (long r = -p.steps; r <= p.steps; ++r) {
    for (long c = -p.steps; c <= p.steps; ++c) {
      square[0][(r + kMost) * kSide + c + kMost] = heat[inside(row + r, p.rows) * p.cols + inside(col + c, p.cols)];
    }
  }
  for (long step = 1; step <= p.steps; ++step) {
    const long reach = p.steps - step;
    const double* from = square[(step - 1) % 2];
    double* to = square[step % 2];
    for (long r = -reach; r <= reach; ++r) {
      for (long c = -reach; c <= reach; ++c) {
        const long at_row = inside(row + r, p.rows), at_col = inside(col + c, p.cols);
        auto cell = [&](long down, long right) {  // by its place on the chip, which may be the edge's
          return from[(inside(at_row + down, p.rows) - row + kMost) * kSide + inside(at_col + right, p.cols) - col + kMost];
        };
        to[(r + kMost) * kSide + c + kMost] =
            stepped<double>(cell(0, 0), cell(0, -1), cell(0, 1), cell(-1, 0), cell(1, 0), power[at_row * p.cols + at_col]);
      }
    }
  }
  y[i] = square[p.steps % 2][kMost * kSide + kMost];
}

template <Config c>
KERNEL LAUNCH_BOUNDS(c.width * c.height)
void hotspot(IN(p.rows * p.cols, .then = y, .low = 300, .below = 350) const float* heat, IN(p.rows * p.cols, .low = 0, .below = 1) const float* power,
             OUT(p.rows * p.cols) float* y, RUN_INDEX int run, Problem p) {
  SHARED_DYNAMIC(float, tiles);
  constexpr int kWidth = c.width + 2 * c.fused, kHeight = c.height + 2 * c.fused;
  const int steps = (int)min_of(p.steps - (long)run * c.fused, (long)c.fused);  // the last launch may have fewer
  const long first_row = blockIdx.y * (long)c.height - c.fused, first_col = blockIdx.x * (long)c.width - c.fused;
  const int thread = threadIdx.y * c.width + threadIdx.x, threads = c.width * c.height;
  auto row_of = [&](int cell) { return min_of(max_of(first_row + cell / kWidth, 0L), p.rows - 1); };
  auto col_of = [&](int cell) { return min_of(max_of(first_col + cell % kWidth, 0L), p.cols - 1); };
  for (int cell = thread; cell < kWidth * kHeight; cell += threads) tiles[cell] = heat[row_of(cell) * p.cols + col_of(cell)];
  __syncthreads();
  for (int step = 0; step < steps; ++step) {
    const float* from = tiles + step % 2 * kWidth * kHeight;
    float* to = tiles + (step + 1) % 2 * kWidth * kHeight;
    for (int cell = thread; cell < kWidth * kHeight; cell += threads) {
      const long row = row_of(cell), col = col_of(cell);
      const long r = row - first_row, w = col - first_col;
      if (r > step && r < kHeight - 1 - step && w > step && w < kWidth - 1 - step) {
        const float* centre = from + r * kWidth + w;
        const float left = centre[col > 0 ? -1 : 0], right = centre[col < p.cols - 1 ? 1 : 0];
        const float up = centre[row > 0 ? -kWidth : 0], down = centre[row < p.rows - 1 ? kWidth : 0];
        to[r * kWidth + w] = stepped(*centre, left, right, up, down, power[row * p.cols + col]);
      }
    }
    __syncthreads();
  }
  const long row = first_row + c.fused + threadIdx.y, col = first_col + c.fused + threadIdx.x;
  if (row < p.rows && col < p.cols) y[row * p.cols + col] = tiles[steps % 2 * kWidth * kHeight + (threadIdx.y + c.fused) * kWidth + threadIdx.x + c.fused];
}
