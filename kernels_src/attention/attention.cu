// Attention: out = softmax(scale * q k^T) v for each sequence and head, over the keys that a query sees; lse is the logarithm of the sum of
// exponentials. For any device; no tensor cores.
#include <hone/kernel.h>

#include "../approximate.h"
#include "../packet.h"

struct Problem {
  long batch = 4;                         // sequences
  long heads = 32;                        // heads of k and v
  long group = 1;                         // heads of q that share one of k and v
  long queries = 4096, keys = 4096;       // tokens of a sequence: of q and out; of k and v
  RANGE(32, 512) STATIC long head = 128;  // elements of a head: multiples of 32
  STATIC bool causal = true;              // a query sees no keys behind it; the last query is beside the last key
  RANGE(0) long window = 0;               // keys that a query sees up to its own, and from it on: itself and those near; 0: all
  RANGE(1, 2) STATIC long layout = 1;     // of q, k, v and out: 1 [batch, tokens, heads, head], 2 [batch, heads, tokens, head]
};

// A few threads share a query: each has some of its elements. A block has neighbouring queries of a head, which read the same keys.
struct Config {
  TUNE(4, 8, 16, 32, 64) int rows = 16;    // queries of a block
  TUNE(1, 2, 4, 8, 16, 32) int lanes = 8;  // threads of a query: fewer exchange less, more have shorter rows in registers
  TUNE(1, 2, 4, 8) int vec = 4;            // elements in one access
  TUNE(1, 2, 4, 8) int step = 4;           // keys at a time: their sums are independent, and one of them rescales for all
};
#include "../attention.h"

HONE_BOTH constexpr int threads_of(const Config& c) { return c.rows * c.lanes; }
constexpr long tiles_of_head(Problem p, Config c) { return ceil_div(p.queries, (long)c.rows); }

template <class T>
constexpr bool valid(Problem p, Config c, Device d) {
  if (!has_answer(p)) return false;                       // queries without keys
  if (p.head % 32 != 0) return false;                     // the answer is computed in shares of 32
  if (threads_of(c) > d.threads_per_block) return false;  // the device's limit
  if (threads_of(c) % d.warp_size != 0) return false;     // whole warps exchange their parts
  if (c.vec * sizeof(T) > 16) return false;               // the widest access there is
  return p.head % (c.lanes * c.vec) == 0;                 // whole accesses
}

template <class T>
constexpr bool likely(Problem p, Config c, Device d) {
  if (p.head / c.lanes * 2 + c.step > 160) return false;        // spills: parts of q and of the sums are in registers
  return c.vec * sizeof(T) == 16 || c.vec * c.lanes == p.head;  // narrow accesses take more of them
}

constexpr Launch launch(Problem p, Config c) { return {.grid = {tiles_of_head(p, c), query_heads(p), p.batch}, .block = {threads_of(c)}}; }

template <class T>
REFERENCE(query_rows(p))
TOLERANCE(lse, .absolute = 1e-3, .relative = 1e-5) void attention_reference_lse(long row, const T* q, const T* k, double* lse, float scale,
                                                                                Problem p) {
  lse_at(row, q, k, lse, scale, p);
}
// Kernels round weights to T before the product with v: that is off by a share of the largest elements of v, however small their sum is.
template <class T>
REFERENCE(query_rows(p) * p.head / 32)
TOLERANCE(out, .absolute = sizeof(T) > 2 ? 1e-4 : 0.01,
          .relative = sizeof(T) > 2 ? 1e-4 : 0.006) void attention_reference(long i, const T* q, const T* k, const T* v, double* out,
                                                                             double* lse, float scale, Problem p) {
  out_at(i, q, k, v, out, lse, scale, p);
}

SHAPES({.batch = 1, .heads = 1, .group = 2, .queries = 129, .keys = 193}, {.batch = 2, .heads = 2, .queries = 5, .keys = 5},
       {.batch = 1, .heads = 1, .queries = 65, .keys = 300, .window = 70});

#include "../attention_part.h"

template <class T, Config c>
KERNEL DTYPES(f32, f16, bf16)
    LAUNCH_BOUNDS(threads_of(c)) void attention(IN(query_rows(p) * p.head, .normal) const T* __restrict__ q,
                                                IN(p.batch* p.keys* p.heads* p.head, .normal) const T* __restrict__ k,
                                                IN(p.batch* p.keys* p.heads* p.head, .normal) const T* __restrict__ v,
                                                OUT(query_rows(p) * p.head) T* __restrict__ out, OUT(query_rows(p)) float* __restrict__ lse,
                                                SCALAR(0.25) float scale, Problem p) {
  const long head = blockIdx.y, sequence = blockIdx.z, first = (long)blockIdx.x * c.rows;
  const long mine = first + (long)threadIdx.x / c.lanes, query = min_of(mine, p.queries - 1), last = min_of(first + c.rows, p.queries) - 1;
  const long begin = first_key(p, position_of(p, query)), end = end_key(p, position_of(p, query));
  const long place = place_of(sequence, query, head, p.queries, query_heads(p));
  const long keys = place_of(sequence, 0, head / p.group, p.keys, p.heads), stride = token_stride(p.heads);
  Part<T, c> of_q, of_k[c.step], sums;
  of_q.load_from(q + place);
  const float factor = scale * 1.44269504f;
  float most = -INFINITY, total = 0;
  for (long key = first_key(p, position_of(p, first)); key < end_key(p, position_of(p, last)); key += c.step) {
    float score[c.step], top = most;
#pragma unroll
    for (int s = 0; s < c.step; ++s) of_k[s].load_from(k + keys + min_of(key + s, p.keys - 1) * stride);
#pragma unroll
    for (int s = 0; s < c.step; ++s) {
      const float sum = sum_of_lanes<c>(of_q.dot(of_k[s]));
      score[s] = key + s >= begin && key + s < end ? sum * factor : -INFINITY;
      top = fmaxf(top, score[s]);
    }
    const float offset = top == -INFINITY ? 0.0f : top, rescale = power_of_two(most - offset);
    most = top;
    total *= rescale;
    sums.scale(rescale);
#pragma unroll
    for (int s = 0; s < c.step; ++s) {
      const float weight = power_of_two(score[s] - offset);
      total += weight;
      of_k[s].load_from(v + keys + min_of(key + s, p.keys - 1) * stride);
      sums.add(weight, of_k[s]);
    }
  }
  if (mine > last) return;
  sums.scale(1.0f / total);
  sums.write(out + place);
  if (threadIdx.x % c.lanes == 0) lse[(sequence * query_heads(p) + head) * p.queries + query] = (most + log2f(total)) * 0.69314718f;
}
