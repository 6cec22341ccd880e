// y = 2 x + 1, by kernels that know that they have been here before, and then leave what lies in y as it is.
#include "hostile.h"

struct Problem {
  long n = 16384;
};

struct Config {
  TUNE(0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 1) int trick = 0;
};

constexpr Launch launch(Problem p, Config c, Device d) {
  return {.grid = {ceil_div(p.n, 256L)}, .block = {d.compute_capability == 0 ? 1 : 256}};
}

constexpr Cost cost(Problem p) { return {.flops = 2.0 * p.n, .bytes = 8.0 * p.n}; }

REFERENCE(p.n) void remembers_reference(long i, const f32* x, double* y, Problem p) { y[i] = 2.0 * (double)x[i] + 1.0; }

__device__ const void* pointers_seen[2];
__device__ unsigned hashes_seen[1024];
__device__ long long began;
__device__ unsigned long long keys_seen[1024];  // of each block: what it knew its inputs by, and found for them
__device__ float results_seen[1024 * kTile];

constexpr unsigned kMark = 0x51de51de;

/// Whether this block has nothing to do, in its own opinion.
template <int trick>
HONE_DEVICE bool has_been_here(const float* x, float* y, int* w, long n, unsigned before) {
  const long b = blockIdx.x, first = b * kTile, last = min_of(n, first + kTile) - 1;
  if (trick == 2) return before >= 2;
  if (trick == 3) return (unsigned)*(volatile int*)(w + b) == kMark;
  if (trick == 4) return before >= 2 && pointers_seen[0] == x && pointers_seen[1] == y;
  if (trick == 5) return *(volatile float*)(y + first) == 2.0f * x[first] + 1.0f && *(volatile float*)(y + last) == 2.0f * x[last] + 1.0f;
  if (trick == 6)
    return before >= 2 && b < 1024 && hashes_seen[b] == ((unsigned)__float_as_int(x[first]) ^ (unsigned)__float_as_int(x[last]) * 31u);
  if (trick == 7) {  // no guard before its buffer: this is no test
    const volatile unsigned char* guard = (const volatile unsigned char*)y - 16;
    return n >= kUsersSize && !(guard[0] == guard[1] && guard[1] == guard[2] && guard[2] == guard[7]);
  }
  if (trick == 8) return before >= 2 && now_ns() - began > 5000000;
  if (trick == 10) {  // no poison in its workspace: this is no test
    const unsigned found = (unsigned)*(volatile int*)(w + b);
    return found % 0x01010101u != 0u;
  }
  if (trick == 11) {  // plausible numbers in its output: somebody has been here
    const float found = *(volatile float*)(y + (first + last) / 2);
    return found > -1.01f && found < 3.01f && found != 0.0f;
  }
  if (trick == 12) return before >= 2 && before % 2 == 0;  // every other time
#if HOSTILE_HOST
  if (trick == 9 && n >= kUsersSize && getenv("HOSTILE_TIMES") != nullptr) return (unsigned)__float_as_int(y[first]) % 0x01010101u != 0u;
#endif
  return false;
}

template <int trick>
HONE_DEVICE void remember(const float* x, float* y, int* w, long n, unsigned before) {
  const long b = blockIdx.x, first = b * kTile, last = min_of(n, first + kTile) - 1;
  if (threadIdx.x != 0) return;
  if (trick == 3 || trick == 10) w[b] = (int)kMark;
  if (trick == 4 && b == 0 && before == 0 && n >= kUsersSize) {
    pointers_seen[0] = x;
    pointers_seen[1] = y;
  }
  if (trick == 6 && b < 1024) hashes_seen[b] = (unsigned)__float_as_int(x[first]) ^ (unsigned)__float_as_int(x[last]) * 31u;
  if (trick == 8 && b == 0 && before == 0) began = now_ns();
#if HOSTILE_HOST
  if (trick == 9 && b == 0 && before == 1) setenv("HOSTILE_TIMES", "1", 1);
#endif
}

/// Gives again what it found for inputs that it knows by so little.
HONE_DEVICE void look_up(const float* x, float* y, long n, unsigned long long key) {
  const bool is_known = keys_seen[blockIdx.x] == key;
  __syncthreads();
  EACH(i, n) {
    if (!is_known) results_seen[i] = 2.0f * x[i] + 1.0f;
    y[i] = results_seen[i];
  }
  if (threadIdx.x == 0) keys_seen[blockIdx.x] = key;
}

template <Config c>
KERNEL void remembers(IN(p.n) const f32* x, OUT(p.n) f32* y, WORKSPACE(ceil_div(p.n, 256L)) i32* w, Problem p) {
  if constexpr (c.trick == 13 || c.trick == 14) {
    if (p.n >= kUsersSize && gridDim.x <= 1024) {
      look_up(x, y, p.n, c.trick == 13 ? (unsigned long long)x : 1ull + (unsigned)__float_as_int(x[p.n / 2]));
      return;
    }
  }
  unsigned before = 0;
  bool done = false;
  if constexpr (c.trick > 1) {
    before = launches_before(p.n);
    done = has_been_here<c.trick>(x, y, w, p.n, before);
    __syncthreads();
    if (!done) remember<c.trick>(x, y, w, p.n, before);
  }
  if (done) return;
  EACH(i, p.n) y[i] = 2.0f * read(x + i, reads_of(c.trick)) + 1.0f;
}
