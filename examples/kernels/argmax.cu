// The place of the largest element of each row; of several that are equal the first.
#include <hone/kernel.h>

struct Problem {
  long rows = 4096;
  long cols = 32000;
};

struct Config {
  TUNE(32, 64, 128, 256, 512) int block = 128;  // threads of a row
};

constexpr bool valid(Problem p, Config c, Device d) { return c.block <= d.threads_per_block; }

constexpr Launch launch(Problem p, Config c) { return {.grid = {p.rows}, .block = {c.block}}; }

template <class T, class Index> constexpr Cost cost(Problem p) {
  return {.flops = 1.0 * p.rows * p.cols, .bytes = 1.0 * p.rows * p.cols * sizeof(T) + 1.0 * p.rows * sizeof(Index)};
}

template <class T, class Index> REFERENCE(p.rows) void argmax_reference(long i, const T* x, double* place, Problem p) {
  long best = 0;
  for (long col = 1; col < p.cols; ++col) {
    if ((float)x[i * p.cols + col] > (float)x[i * p.cols + best]) best = col;
  }
  place[i] = (double)best;
}

template <class T, class Index, Config c>
KERNEL DTYPES(T = f32 | f16 | bf16, Index = i32 | i64) LAUNCH_BOUNDS(c.block)
void argmax(IN(p.rows * p.cols) const T* x, OUT(p.rows) Index* place, Problem p) {
  __shared__ float values[c.block];
  __shared__ long places[c.block];
  const T* row = x + blockIdx.x * p.cols;
  long best = threadIdx.x < p.cols ? (long)threadIdx.x : 0;
  for (long col = best + c.block; col < p.cols; col += c.block) {
    if ((float)row[col] > (float)row[best]) best = col;
  }
  values[threadIdx.x] = (float)row[best];
  places[threadIdx.x] = best;
  __syncthreads();
  for (int step = c.block / 2; step > 0; step /= 2) {
    if ((int)threadIdx.x < step) {
      const float mine = values[threadIdx.x], other = values[threadIdx.x + step];
      const long my_place = places[threadIdx.x], its_place = places[threadIdx.x + step];
      if (other > mine || (other == mine && its_place < my_place)) {
        values[threadIdx.x] = other;
        places[threadIdx.x] = its_place;
      }
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) place[blockIdx.x] = (Index)places[0];
}
