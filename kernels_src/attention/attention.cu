// Attention: out = softmax(scale * q k^T) v for each sequence and head, over the keys that a query sees; lse is the logarithm of the sum of
// exponentials. For any device; no tensor cores.
#include <hone/kernel.h>

#include "../approximate.h"
#include "../packet.h"

struct Problem {
  long batch = 4;                            // sequences
  long heads = 32;                           // heads of k and v
  long group = 1;                            // heads of q that share one of k and v
  long queries = 4096, keys = 4096;          // tokens of a sequence (packed: of all together): of q and out; of k and v
  RANGE(32, 512) STATIC long head = 128;     // elements of a head of q and k: multiples of 32
  RANGE(0, 512) STATIC long value_head = 0;  // elements of a head of v and out, as well; 0: as many
  STATIC bool causal = true;                 // a query sees no keys behind it; the last query is beside the last key
  RANGE(0) long window = 0;                  // keys that a query sees up to its own, and from it on: itself and those near; 0: all
  RANGE(1, 2) STATIC long layout = 1;        // of q, k, v and out: 1 [batch, tokens, heads, head], 2 [batch, heads, tokens, head]
  STATIC bool packed = false;                // sequences differ in length: they lie one after another, in layout 1
  RANGE(0, 100) long varied = 0;             // percent by which lengths differ from their mean in inputs that are made for packed sequences
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

template <class T>
constexpr bool valid(Problem p, Config c, Device d) {
  if (p.packed && p.layout != 1) return false;                                          // tokens are the outer axis
  if (!has_answer(p)) return false;                                                     // queries without keys
  if (p.head % 32 != 0 || p.value_head % 32 != 0) return false;                         // the answer is computed in shares of 32
  if (threads_of(c) > d.threads_per_block) return false;                                // the device's limit
  if (threads_of(c) % d.warp_size != 0) return false;                                   // whole warps exchange their parts
  if (c.vec * sizeof(T) > 16) return false;                                             // the widest access there is
  return p.head % (c.lanes * c.vec) == 0 && head_of_values() % (c.lanes * c.vec) == 0;  // whole accesses
}

template <class T>
constexpr bool likely(Problem p, Config c, Device d) {
  if ((p.head + head_of_values()) / c.lanes + c.step > 160) return false;  // spills: parts of q and of the sums are in registers
  return c.vec * sizeof(T) == 16 || c.vec * c.lanes == p.head;             // narrow accesses take more of them
}

constexpr Launch launch(Problem p, Config c) {
  return {.grid = {tile_places(p, c.rows), query_heads(p), lines_of(p)}, .block = {threads_of(c)}};
}

template <class T>
REFERENCE(query_rows(p))
TOLERANCE(lse, .absolute = 1e-3, .relative = 1e-5) void attention_reference_lse(long row, const T* q, const T* k, const i32* q_starts,
                                                                                const i32* k_starts, double* lse, float scale, Problem p) {
  lse[row] = lse_of(row, q, k, q_starts, k_starts, scale, p);
}
// Kernels round weights to T before the product with v: that is off by a share of the largest elements of v, however small their sum is.
template <class T>
REFERENCE(query_rows(p) * head_of_values() / 32)
TOLERANCE(out, .absolute = sizeof(T) > 2 ? 1e-4 : 0.01,
          .relative = sizeof(T) > 2 ? 1e-4 : 0.006) void attention_reference(long i, const T* q, const T* k, const T* v,
                                                                             const i32* q_starts, const i32* k_starts, double* out,
                                                                             double* lse, float scale, Problem p) {
  out_at(i, q, k, v, q_starts, k_starts, out, lse, scale, p);
}

SHAPES({.batch = 1, .heads = 1, .group = 2, .queries = 129, .keys = 193}, {.batch = 2, .heads = 2, .queries = 5, .keys = 5},
       {.batch = 1, .heads = 1, .queries = 65, .keys = 300, .window = 70},
       {.batch = 5, .heads = 1, .queries = 200, .keys = 260, .varied = 100},
       {.batch = 12, .heads = 1, .queries = 10, .keys = 12, .varied = 100},
       {.batch = 3, .heads = 1, .queries = 150, .keys = 210, .window = 30, .varied = 100});

#include "../attention_part.h"

template <class T, Config c>
KERNEL DTYPES(f32, f16, bf16)
    LAUNCH_BOUNDS(threads_of(c)) void attention(IN(query_rows(p) * p.head, .normal) const T* __restrict__ q,
                                                IN(key_rows(p) * p.head, .normal) const T* __restrict__ k,
                                                IN(key_rows(p) * head_of_values(), .normal) const T* __restrict__ v,
                                                IN(p.packed ? p.batch + 1 : 0) const i32* __restrict__ q_starts,
                                                IN(p.packed ? p.batch + 1 : 0) const i32* __restrict__ k_starts,
                                                OUT(query_rows(p) * head_of_values()) T* __restrict__ out,
                                                OUT(query_rows(p)) float* __restrict__ lse, SCALAR(0.25) float scale, Problem p) {
  long number = blockIdx.z, tile = blockIdx.x;
  if constexpr (Problem::packed) {
    const SequenceTile at = tile_at_place(p, blockIdx.x, c.rows, q_starts);
    number = at.sequence;
    tile = at.tile;
  }
  const Sequence s = sequence_of(p, number, q_starts, k_starts);
  const long head = blockIdx.y, first = tile * c.rows;
  if (first >= s.queries) return;  // an empty place
  const long mine = first + (long)threadIdx.x / c.lanes, query = min_of(mine, s.queries - 1), last = min_of(first + c.rows, s.queries) - 1;
  const long begin = first_key(p, position_of(s, query)), end = end_key(p, s, position_of(s, query));
  const long place = query_place(p, s, query, head), keys = key_place(p, s, 0, head), stride = token_stride(p.heads);
  const long values = key_place(p, s, 0, head, head_of_values()), stride_of_values = token_stride(p.heads, head_of_values());
  Part<T, c> of_q, of_k[c.step];
  Part<T, c, (int)head_of_values()> of_v, sums;
  of_q.load_from(q + place);
  const float factor = scale * 1.44269504f;
  float most = -INFINITY, total = 0;
  for (long key = first_key(p, position_of(s, first)); key < end_key(p, s, position_of(s, last)); key += c.step) {
    float score[c.step], top = most;
#pragma unroll
    for (int i = 0; i < c.step; ++i) of_k[i].load_from(k + keys + min_of(key + i, s.keys - 1) * stride);
#pragma unroll
    for (int i = 0; i < c.step; ++i) {
      const float sum = sum_of_lanes<c>(of_q.dot(of_k[i]));
      score[i] = key + i >= begin && key + i < end ? sum * factor : -INFINITY;
      top = fmaxf(top, score[i]);
    }
    const float offset = top == -INFINITY ? 0.0f : top, rescale = power_of_two(most - offset);
    most = top;
    total *= rescale;
    sums.scale(rescale);
#pragma unroll
    for (int i = 0; i < c.step; ++i) {
      const float weight = power_of_two(score[i] - offset);
      total += weight;
      of_v.load_from(v + values + min_of(key + i, s.keys - 1) * stride_of_values);
      sums.add(weight, of_v);
    }
  }
  if (mine > last) return;
  sums.scale(total > 0.0f ? 1.0f / total : 0.0f);
  sums.write(out + query_place(p, s, query, head, head_of_values()));
  if (threadIdx.x % c.lanes == 0) lse[lse_place(p, s, query, head)] = (most + log2f(total)) * 0.69314718f;
}
