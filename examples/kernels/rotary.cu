// Rotary embedding: element j of a head and the one half a head further on are turned by an angle of their own.
#include <hone/kernel.h>

struct Problem {
  long tokens = 1L << 12;
  long heads = 32;
  RANGE(2, 512) STATIC long head = 128;  // elements of a head: compiled in, so that no index needs a division
};

struct Config {
  TUNE(32, 64, 128, 256, 512) int block = 128;  // threads in a block
  TUNE(1, 2, 4, 8) int vec = 1;                 // pairs of a thread: elements of one access
};

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.block > d.threads_per_block) return false;  // the device's limit
  if (c.vec * sizeof(T) > 16) return false;         // the widest access there is
  if (p.head % 2 != 0) return false;                // pairs
  return p.head / 2 % c.vec == 0;                   // no access reaches beyond its half
}

constexpr Launch launch(Problem p, Config c) {
  return {.grid = {ceil_div(p.tokens * p.heads * (p.head / 2 / c.vec), (long)c.block)}, .block = {c.block}};
}

template <class T> constexpr Cost cost(Problem p) {
  return {.flops = 3.0 * p.tokens * p.heads * p.head, .bytes = (2.0 * p.heads * sizeof(T) + sizeof(float)) * p.tokens * p.head, .sum_length = 2};
}

template <class T>
REFERENCE(p.tokens * p.heads * p.head) void rotary_reference(long i, const T* x, const float* cosine, const float* sine, double* y, Problem p) {
  const long half = p.head / 2, j = i % p.head, token = i / p.head / p.heads, angle = token * half + j % half;
  const double turned = j < half ? -(double)(float)x[i + half] : (double)(float)x[i - half];
  y[i] = (double)(float)x[i] * cosine[angle] + turned * sine[angle];
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.block)
void rotary(IN(p.tokens * p.heads * p.head) const T* x, IN(p.tokens * p.head / 2) const float* cosine, IN(p.tokens * p.head / 2) const float* sine,
            OUT(p.tokens * p.heads * p.head) T* y, Problem p) {
  constexpr long kHalf = Problem::head / 2, kUnits = kHalf / c.vec;  // of a head
  const long unit = (long)blockIdx.x * c.block + threadIdx.x;
  const long row = unit / kUnits, j = unit % kUnits * c.vec, token = row / p.heads;
  if (token >= p.tokens) return;
  const Vector<T, c.vec> low = load<c.vec>(x + row * p.head + j), high = load<c.vec>(x + row * p.head + kHalf + j);
  Vector<T, c.vec> left, right;
#pragma unroll
  for (int e = 0; e < c.vec; ++e) {
    const float cos = cosine[token * kHalf + j + e], sin = sine[token * kHalf + j + e];
    left[e] = T((float)low[e] * cos - (float)high[e] * sin);
    right[e] = T((float)high[e] * cos + (float)low[e] * sin);
  }
  store(y + row * p.head + j, left);
  store(y + row * p.head + kHalf + j, right);
}
