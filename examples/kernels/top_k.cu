// The k largest of each row and where they stand. Among equal ones any may be chosen, in any order.
#include <hone/kernel.h>

struct Problem {
  long rows = 4096;
  long cols = 1024;
  long k = 8;  // at most cols
};

struct Config {
  TUNE(32, 64, 128, 256) int block = 128;  // threads in a block
  TUNE(1, 2, 4) int items = 1;             // elements that a thread looks at before they are compared
};

constexpr bool valid(Problem p, Config c, Device d) {
  if (p.k > p.cols) return false;  // so many there are not
  return c.block <= d.threads_per_block;
}

constexpr Launch launch(Problem p, Config c) { return {.grid = {p.rows}, .block = {c.block}, .shared = c.block * 12 + p.cols}; }

constexpr Cost cost(Problem p) { return {.bytes = 4.0 * p.rows * p.cols}; }

// Few different numbers: ties.
INPUT(x) float x_input(long i, Random& random, Problem p) { return (float)random.integer(-50, 50); }

// Right if each is an element of the row that no other place has, and no element that is left out is larger than the smallest that was taken.
ACCEPT(p.rows) bool top_k_accept(long row, const float* x, const float* values, const i32* index, Problem p) {
  const float* line = x + row * p.cols;
  float least = INFINITY;
  long above = 0;
  for (long j = 0; j < p.k; ++j) {
    const i32 at = index[row * p.k + j];
    if (at < 0 || at >= p.cols || line[at] != values[row * p.k + j]) return false;
    for (long other = 0; other < j; ++other) {
      if (index[row * p.k + other] == at) return false;
    }
    least = min(least, line[at]);
  }
  for (long col = 0; col < p.cols; ++col) above += line[col] > least;
  for (long j = 0; j < p.k; ++j) above -= values[row * p.k + j] > least;
  return above == 0;
}

template <Config c>
KERNEL LAUNCH_BOUNDS(c.block)
void top_k(IN(p.rows * p.cols) const float* x, OUT(p.rows * p.k) float* values, OUT(p.rows * p.k) i32* index, Problem p) {
  SHARED_DYNAMIC(float, best);
  long* place = reinterpret_cast<long*>(best + c.block);
  unsigned char* taken = reinterpret_cast<unsigned char*>(place + c.block);
  const float* line = x + blockIdx.x * p.cols;
  for (long col = threadIdx.x; col < p.cols; col += c.block) taken[col] = 0;
  for (long j = 0; j < p.k; ++j) {
    __syncthreads();
    float largest = -INFINITY;
    long at = -1;
    for (long begin = threadIdx.x * c.items; begin < p.cols; begin += (long)c.block * c.items) {
      for (long col = begin; col < min(begin + c.items, p.cols); ++col) {
        if (taken[col] == 0 && line[col] > largest) {
          largest = line[col];
          at = col;
        }
      }
    }
    best[threadIdx.x] = largest;
    place[threadIdx.x] = at;
    for (int half = c.block / 2; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half && best[threadIdx.x + half] > best[threadIdx.x]) {
        best[threadIdx.x] = best[threadIdx.x + half];
        place[threadIdx.x] = place[threadIdx.x + half];
      }
    }
    if (threadIdx.x == 0) {
      values[blockIdx.x * p.k + j] = best[0];
      index[blockIdx.x * p.k + j] = (i32)place[0];
      taken[place[0]] = 1;
    }
  }
}
