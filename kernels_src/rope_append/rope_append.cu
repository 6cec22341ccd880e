// Rotary embedding with append: rotates q and k by the angles of their tokens' positions, and writes k and v into the slots of a cache of
// pages (slot = page * tokens of a page + place). Element e of a head and element e + head / 2 form a pair.
#include <hone/kernel.h>

#include "../packet.h"

struct Problem {
  long tokens = 8192;
  long heads = 8;                        // heads of k and v
  long group = 4;                        // heads of q that share one of k and v
  long positions = 16384;                // rows of cosines and sines
  long slots = 16384;                    // of the cache: at least one for each token
  RANGE(2, 512) STATIC long head = 128;  // elements of a head
};

struct Config {
  TUNE(64, 128, 256, 512) int block = 256;  // threads in a block
  TUNE(1, 2, 4, 8) int vec = 4;             // elements in one access; a thread has as many pairs
  TUNE(1, 2, 4) int items = 1;              // heads that a thread rotates by the same angles
  TUNE(false, true) bool stream = false;    // what is read and written once leaves the caches first
};

/// Heads of a token: of q, of k, and of v, which are copied.
HONE_BOTH constexpr long query_heads(Problem p) { return p.heads * p.group; }
HONE_BOTH constexpr long all_heads(Problem p) { return query_heads(p) + 2 * p.heads; }
HONE_BOTH constexpr long threads_of_head(Config c) { return Problem::head / 2 / c.vec; }
constexpr long work_of(Problem p, Config c) { return p.tokens * ceil_div(all_heads(p), (long)c.items) * (p.head / 2 / c.vec); }

template <class T>
constexpr bool valid(Problem p, Config c, Device d) {
  if (p.slots < p.tokens) return false;             // each token has a slot of its own
  if (p.head % 2 != 0) return false;                // pairs
  if (c.block > d.threads_per_block) return false;  // the device's limit
  if (c.vec * sizeof(T) > 16) return false;         // the widest access there is
  if (p.head / 2 % c.vec != 0) return false;        // whole accesses
  return work_of(p, c) <= c.block * 2000000000L;    // blocks of a grid
}

constexpr Launch launch(Problem p, Config c) {
  return {.grid = {ceil_div(work_of(p, c), (long)c.block)}, .block = {c.block}, .overlap = true};
}

template <class T>
constexpr Cost cost(Problem p) {
  return {.flops = 3.0 * p.tokens * (query_heads(p) + p.heads) * p.head,
          .bytes = 2.0 * sizeof(T) * p.tokens * all_heads(p) * p.head + 4.0 * p.tokens * p.head};
}

/// Cosines, then sines, of a position's angles.
template <class T>
INPUT(angles)
float angles_input(long i, Problem p) {
  const long half = Problem::head / 2, e = i % half;
  const double angle = (double)(i / Problem::head) * exp(-9.210340371976184 * 2.0 * e / Problem::head);
  return (float)(i / half % 2 == 0 ? cos(angle) : sin(angle));
}

template <class T>
REFERENCE(p.tokens* all_heads(p) * p.head / 2)
void rope_append_reference(long i, const T* q, const T* k, const T* v, const float* angles, const i32* position, const i32* slot,
                           double* rotated, double* k_cache, double* v_cache, Problem p) {
  const long half = Problem::head / 2, e = i % half, head = i / half % all_heads(p), token = i / half / all_heads(p),
             heads = query_heads(p);
  const double cosine = angles[position[token] * Problem::head + e], sine = angles[position[token] * Problem::head + half + e];
  const bool is_q = head < heads, is_v = head >= heads + p.heads;
  const long from = (is_q ? token * heads + head : token * p.heads + (head - heads) % p.heads) * Problem::head + e;
  const T* const source = is_q ? q : is_v ? v : k;
  const double x = (float)source[from], y = (float)source[from + half];
  const long to = is_q ? from : ((long)slot[token] * p.heads + (head - heads) % p.heads) * Problem::head + e;
  double* const target = is_q ? rotated : is_v ? v_cache : k_cache;
  target[to] = is_v ? x : x * cosine - y * sine;
  target[to + half] = is_v ? y : y * cosine + x * sine;
}

SHAPES({.tokens = 7, .heads = 1, .group = 3, .positions = 50, .slots = 9},
       {.tokens = 33, .heads = 3, .group = 1, .positions = 5, .slots = 33});

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.block) void rope_append(
    IN(p.tokens* query_heads(p) * p.head, .normal) const T* __restrict__ q, IN(p.tokens* p.heads* p.head, .normal) const T* __restrict__ k,
    IN(p.tokens* p.heads* p.head, .normal) const T* __restrict__ v, IN(p.positions* p.head) const float* __restrict__ angles,
    IN(p.tokens, .below = p.positions) const i32* __restrict__ position,
    IN(p.tokens, .below = p.slots, .distinct) const i32* __restrict__ slot, OUT(p.tokens* query_heads(p) * p.head) T* __restrict__ rotated,
    INOUT(p.slots* p.heads* p.head) T* __restrict__ k_cache, INOUT(p.slots* p.heads* p.head) T* __restrict__ v_cache, Problem p) {
  constexpr int kHalf = Problem::head / 2, kThreads = kHalf / c.vec;
  const unsigned heads = (unsigned)query_heads(p), groups = (unsigned)ceil_div(all_heads(p), (long)c.items);
  const long at = (long)blockIdx.x * c.block + threadIdx.x;
  const unsigned e = (unsigned)(at % kThreads) * c.vec;
  const long item = at / kThreads, token = item / groups;
  const unsigned first = (unsigned)(item - token * groups) * c.items;
  grid_dependency_wait();
  launch_dependents();
  if (token >= p.tokens) return;
  Packet<T, c.vec> x[c.items], y[c.items];
#pragma unroll
  for (int i = 0; i < c.items; ++i) {
    const unsigned head = first + i;
    if (head >= all_heads(p)) break;
    const T* const from = head < heads             ? q + (token * heads + head) * Problem::head
                          : head < heads + p.heads ? k + (token * p.heads + head - heads) * Problem::head
                                                   : v + (token * p.heads + head - heads - p.heads) * Problem::head;
    x[i] = load_packet<T, c.vec, c.stream>(from + e);
    y[i] = load_packet<T, c.vec, c.stream>(from + kHalf + e);
  }
  const float* const angle = angles + position[token] * (long)Problem::head + e;
  float cosine[c.vec], sine[c.vec];
#pragma unroll
  for (int i = 0; i < c.vec; ++i) {
    cosine[i] = angle[i];
    sine[i] = angle[kHalf + i];
  }
  const long in_cache = slot[token] * p.heads;
#pragma unroll
  for (int i = 0; i < c.items; ++i) {
    const unsigned head = first + i;
    if (head >= all_heads(p)) break;
    if (head >= heads + p.heads) {
      T* const to = v_cache + (in_cache + head - heads - p.heads) * Problem::head + e;
      store_packet<c.stream>(to, x[i]);
      store_packet<c.stream>(to + kHalf, y[i]);
      continue;
    }
    T* const to =
        (head < heads ? rotated + (token * heads + head) * Problem::head : k_cache + (in_cache + head - heads) * Problem::head) + e;
    float low[c.vec], high[c.vec];
#pragma unroll
    for (int j = 0; j < c.vec; ++j) {
      low[j] = x[i][j] * cosine[j] - y[i][j] * sine[j];
      high[j] = y[i][j] * cosine[j] + x[i][j] * sine[j];
    }
    store_packet<c.stream>(to, pack<T, c.vec>(low));
    store_packet<c.stream>(to + kHalf, pack<T, c.vec>(high));
  }
}
