// Decoding: attention of the last tokens of each sequence to all its tokens, whose keys and values lie in pages; lse is the logarithm of
// the sum of exponentials. For any device and page; no tensor cores.
#include <hone/kernel.h>
#include <hone/kernel_narrow.h>

#include "../approximate.h"
#include "../packet.h"

struct Problem {
  long sequences = 32;
  long heads = 8;                         // heads of k and v
  long group = 4;                         // heads of q that share one of k and v
  RANGE(1, 8) long queries = 1;           // tokens of q for each sequence: its last ones
  long longest = 4096;                    // tokens of the longest sequence
  RANGE(0, 100) long varied = 0;          // percent by which the shortest sequence is shorter; lengths are drawn from between
  long page = 64;                         // tokens of a page of k and v; from `longest` on, the cache is contiguous
  RANGE(32, 512) STATIC long head = 128;  // elements of a head: multiples of 32
};

// A block has one row of q. A few threads share a key: each has some of its elements. Groups of threads have every so many keys.
struct Config {
  TUNE(32, 64, 128, 256, 512) int block = 128;  // threads of a block
  TUNE(1, 2, 4, 8, 16, 32) int lanes = 8;       // threads of a key: fewer exchange less, more have shorter rows in registers
  TUNE(1, 2, 4, 8) int vec = 4;                 // elements in one access
};
#include "../decode.h"

HONE_BOTH constexpr int parts_of(const Config& c) { return c.block / c.lanes; }

template <class T, class KV>
constexpr bool valid(Problem p, Config c, Device d) {
  if (p.longest < p.queries) return false;                                       // queries without keys
  if (p.head % 32 != 0) return false;                                            // the answer is computed in shares of 32
  if (c.block > d.threads_per_block) return false;                               // the device's limit
  if (c.vec * sizeof(T) > 16 || c.vec * sizeof(KV) > 16) return false;           // the widest access there is
  if (parts_of(c) * (p.head + 2) * 4 > d.shared_memory_per_block) return false;  // the device's limit
  return p.head % (c.lanes * c.vec) == 0;                                        // whole accesses
}

template <class T, class KV>
constexpr bool likely(Problem p, Config c) {
  if (p.head / c.lanes > 64) return false;  // spills: parts of q, of a key and of the sums are in registers
  return c.vec * max_of(sizeof(T), sizeof(KV)) == 16 || c.vec * c.lanes == p.head;  // narrow accesses take more of them
}

constexpr Launch launch(Problem p, Config c) {
  return {.grid = {query_rows(p)}, .block = {c.block}, .shared = parts_of(c) * (p.head + 2) * 4};
}

template <class T, class KV>
REFERENCE(query_rows(p))
TOLERANCE(lse, .absolute = 1e-3, .relative = 1e-5) void decode_reference_lse(long row, const T* q, const KV* k, const i32* table,
                                                                             const i32* lengths, const float* k_scale, double* lse,
                                                                             float scale, Problem p) {
  lse_at(row, q, k, table, lengths, k_scale, lse, scale, p);
}
// Kernels round weights to T before the product with v: that is off by a share of the largest elements of v, however small their sum is.
template <class T, class KV>
REFERENCE(query_rows(p) * p.head / 32)
TOLERANCE(out, .absolute = sizeof(T) > 2 ? 1e-4 : 0.01,
          .relative = sizeof(T) > 2 ? 1e-4 : 0.006) void decode_reference(long i, const T* q, const KV* k, const KV* v, const i32* table,
                                                                          const i32* lengths, const float* k_scale, const float* v_scale,
                                                                          double* out, double* lse, float scale, Problem p) {
  out_at(i, q, k, v, table, lengths, k_scale, v_scale, out, lse, scale, p);
}

SHAPES({.sequences = 3, .heads = 2, .longest = 100, .varied = 90, .page = 16},
       {.sequences = 2, .heads = 1, .queries = 5, .longest = 130, .page = 128},
       {.sequences = 5, .heads = 1, .group = 7, .queries = 3, .longest = 77, .varied = 50, .page = 77});

#include "../attention_part.h"

template <class T, class KV, Config c>
KERNEL DTYPES(T = f32 | f16 | bf16, KV = f32 | f16 | bf16 | e4m3)
    LAUNCH_BOUNDS(c.block) void decode(IN(query_rows(p) * p.head, .normal) const T* __restrict__ q,
                                       IN(cache_elements(p), .normal) const KV* __restrict__ k,
                                       IN(cache_elements(p), .normal) const KV* __restrict__ v,
                                       IN(cache_pages(p), .permutation) const i32* __restrict__ table,
                                       IN(p.sequences, .low = shortest(p), .below = p.longest + 1) const i32* __restrict__ lengths,
                                       IN(scales_of(p, sizeof(KV)), .low = 0.5, .below = 1.5) const float* __restrict__ k_scale,
                                       IN(scales_of(p, sizeof(KV)), .low = 0.5, .below = 1.5) const float* __restrict__ v_scale,
                                       OUT(query_rows(p) * p.head) T* __restrict__ out, OUT(query_rows(p)) float* __restrict__ lse,
                                       SCALAR(0.25) float scale, Problem p) {
  SHARED_DYNAMIC(float, shared);
  constexpr int kParts = parts_of(c), kPitch = Problem::head + 2;
  const long row = blockIdx.x;
  const QueryRow at = query_row(p, row, lengths);
  const int part = (int)threadIdx.x / c.lanes;
  const float factor = scale * scale_of<KV>(k_scale, at.head) * 1.44269504f;
  Part<T, c> of_q, sums;
  Part<KV, c> other;
  of_q.load_from(q + row * Problem::head);
  float most = -INFINITY, total = 0;
  for (long first = 0; first < at.end; first += kParts) {  // all threads of a warp exchange their parts
    const long key = first + part, place = cache_place(p, table, at.sequence, min_of(key, at.end - 1)) + at.head * Problem::head;
    other.load_from(k + place);
    const float sum = sum_of_lanes<c>(of_q.dot(other)), score = key < at.end ? sum * factor : -INFINITY;
    const float top = fmaxf(most, score), offset = top == -INFINITY ? 0.0f : top, rescale = power_of_two(most - offset);
    const float weight = power_of_two(score - offset);
    most = top;
    total = total * rescale + weight;
    other.load_from(v + place);
    sums.scale(rescale);
    sums.add(weight, other);
  }
  float* const mine = shared + part * kPitch;
#pragma unroll
  for (int i = 0; i < Part<T, c>::kElements; ++i) mine[Part<T, c>::place(i / c.vec) + i % c.vec] = sums.element[i];
  if (threadIdx.x % c.lanes == 0) {
    mine[Problem::head] = most;
    mine[Problem::head + 1] = total;
  }
  __syncthreads();
  for (int i = 0; i < kParts; ++i) most = fmaxf(most, shared[i * kPitch + Problem::head]);
  total = 0;
  for (int i = 0; i < kParts; ++i)
    total += shared[i * kPitch + Problem::head + 1] * power_of_two(shared[i * kPitch + Problem::head] - most);
  for (int e = (int)threadIdx.x; e < Problem::head; e += c.block) {
    float sum = 0;
    for (int i = 0; i < kParts; ++i) sum += shared[i * kPitch + e] * power_of_two(shared[i * kPitch + Problem::head] - most);
    out[row * Problem::head + e] = T(sum / total * scale_of<KV>(v_scale, at.head));
  }
  if (threadIdx.x == 0) lse[row] = (most + log2f(total)) * 0.69314718f;
}
