// Vector times matrix, the product of one row: out = activation(alpha * a b + beta * added + bias); the one read of b limits its speed.
#include <hone/kernel.h>
#include <hone/kernel_hopper.h>

struct Problem {
  RANGE(1, 1) long m = 1;
  long n = 4096, k = 4096;                 // elements of out, elements of a
  RANGE(1, 4) STATIC long layout = 1;      // how b lies: 1 and 3 b[k, n], 2 and 4 b[n, k]; one row of a lies as one column
  RANGE(1, 4) STATIC long terms = 1;       // what is added to alpha * a b: 1 nothing, 2 beta * added[n], 3 bias[n], 4 both
  RANGE(1, 4) STATIC long activation = 1;  // 1 none, 2 relu, 3 gelu, 4 silu
};

// A line of b is one k, or, where b is k-major, one element of out. A block reads threads / lanes lines at a time, in words. It computes
// lanes * vec elements of out, and its groups of threads share the sum over k; where b is k-major each group computes one element.
struct Config {
  TUNE(128, 256, 512) int threads = 256;            // in a block (1024 took 20 us where 512 took 16)
  TUNE(4, 8, 16, 32, 64, 128) int lanes = 32;       // threads on a line of b: 8 x 16 bytes are a memory line, more threads read longer runs
  TUNE(2, 4, 8, 16) int bytes = 16;                 // of a word: 16 is the widest access there is. Lines that are not whole words are read by
                                                    // elements, which is right at any shape; words of one element are faster then
  TUNE(1, 4, 8, 16) int in_flight = 4;              // words a thread loads before it uses them, to cover the latency of memory
  TUNE(1, 2, 4, 8) int cluster = 1;                 // blocks that share the sum over k and reduce it through distributed shared memory
  TUNE(0, 1, 2, 4, 8, 16, 32, 64, 128) int split = 0;  // split-K: blocks that share it for a second pass; 0: by the shape. With many, a
                                                    // block reads few whole lines, which are contiguous
};
#include "../product.h"

template <class T> HONE_BOTH constexpr int vec(const Config& c) { return c.bytes / (int)sizeof(T); }
HONE_BOTH constexpr int groups_of(const Config& c) { return c.threads / c.lanes; }
/// Elements of out that a block (or a cluster of them) computes, and the partial sums of each in shared memory.
template <class T> HONE_BOTH constexpr int outputs_of(const Config& c) { return !b_is_k_major() ? c.lanes * vec<T>(c) : groups_of(c); }
HONE_BOTH constexpr int parts_of(const Config& c) { return !b_is_k_major() ? groups_of(c) : max_of(1, c.lanes / 32); }
/// Elements along k of one word of each thread of a block.
template <class T> HONE_BOTH constexpr int k_at_once(const Config& c) { return !b_is_k_major() ? groups_of(c) : c.lanes * vec<T>(c); }
/// Whether lines of w are whole words.
template <class T> HONE_BOTH constexpr bool whole_words(Problem p, const Config& c) { return (!b_is_k_major() ? p.n : p.k) % vec<T>(c) == 0; }
/// Words whose elements are loaded one by one: more than one would take long to compile.
template <bool aligned> HONE_BOTH constexpr int in_flight(const Config& c) { return aligned ? c.in_flight : 1; }
/// Elements along k of a round: of all words that a block has in flight.
template <class T> HONE_BOTH constexpr long round_of(Problem p, const Config& c) {
  return k_at_once<T>(c) * (whole_words<T>(p, c) ? in_flight<true>(c) : in_flight<false>(c));
}
/// Blocks that share the sum over k: 512 in all, but at least one round of words in flight for each.
template <class T> HONE_BOTH constexpr long default_split(Problem p, const Config& c) {
  return max_of(1L, min_of(min_of(32L, 512 / ceil_div(p.n, (long)outputs_of<T>(c))), p.k / round_of<T>(p, c)));
}
template <class T> HONE_BOTH constexpr long split_of(Problem p, const Config& c) { return c.split > 0 ? c.split : default_split<T>(p, c); }
template <class T> HONE_BOTH constexpr long shares_of(Problem p, const Config& c) { return c.cluster * split_of<T>(p, c); }
template <class T> constexpr long blocks_of(Problem p, Config c) { return shares_of<T>(p, c) * ceil_div(p.n, (long)outputs_of<T>(c)); }
template <class T> constexpr long partial_floats(Problem p, Config c) { return split_of<T>(p, c) > 1 ? split_of<T>(p, c) * p.n : 1; }
/// Elements of out that a block of a cluster finishes.
template <class T> HONE_BOTH constexpr int own_outputs(const Config& c) { return ceil_div(outputs_of<T>(c), c.cluster); }
template <class T> constexpr int shared_bytes(Config c) { return 4 * (parts_of(c) * outputs_of<T>(c) + c.cluster * own_outputs<T>(c)); }
/// Registers of a thread, estimated low: words of b in flight, where it is k-major those of a, and sums.
constexpr int registers_of(Config c) { return c.in_flight * c.bytes / 4 * (b_is_k_major() ? 2 : 1) + 32; }

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.bytes < (int)sizeof(T)) return false;                              // a word holds at least one element
  if (c.threads > d.threads_per_block) return false;                       // the device's limit
  if (c.lanes > c.threads) return false;                                   // a line is read by one block
  if (c.cluster > 1 && d.compute_capability < 90) return false;            // clusters: Hopper
  if (c.cluster > 1 && c.split != 1) return false;                         // one way to share at a time
  return shared_bytes<T>(c) + 64 <= d.shared_memory_per_block;             // the device's limit
}

// Learned on an H200 in November 2026, at products of one row with 4096x4096 to 8192x28672 in f32 and bf16.
template <class T> constexpr bool likely(Problem p, Config c, Device d) {
  const long line = !b_is_k_major() ? p.n : p.k;
  if (c.bytes < 16 && line * sizeof(T) % 16 == 0) return false;            // lines are whole words of 16 bytes
  if (c.split > 0 && c.cluster == 1 && c.split == default_split<T>(p, c)) return false;  // 0 gives the same
  if (shared_bytes<T>(c) > 49152) return false;                            // so many sums take long to add up
  if (registers_of(c) * c.threads > d.registers_per_multiprocessor) return false;  // spills
  if (c.lanes > 32 && c.lanes * vec<T>(c) >= 2 * line) return false;       // half of the lanes would have no word
  if (c.in_flight > 4 && c.in_flight * k_at_once<T>(c) * shares_of<T>(p, c) >= 2 * p.k) return false;  // loads that only pad
  if (p.n * p.k >= (1L << 22) && blocks_of<T>(p, c) < d.multiprocessors / 8 * 8) return false;  // some multiprocessors would be idle
  return c.split < 2 && c.cluster == 1 || shares_of<T>(p, c) * round_of<T>(p, c) <= p.k;  // each share has a word for each thread
}

template <class T> constexpr Launch launch_gemv(Problem p, Config c) {
  return {.grid = {c.cluster * ceil_div(p.n, (long)outputs_of<T>(c)), split_of<T>(p, c)},
          .block = {c.threads},
          .cluster = {c.cluster},
          .shared = shared_bytes<T>(c),
          .overlap = true};
}
constexpr int kSumOutputs = 32, kSumGroups = 8;  // the second pass: elements for each block, and threads for each element
template <class T> constexpr Launch launch_gemv_sum(Problem p, Config c) {
  return {.grid = {ceil_div(p.n, (long)kSumOutputs)},
          .block = {kSumOutputs * kSumGroups},
          .enabled = split_of<T>(p, c) > 1,
          .overlap = true};
}

template <class T>
REFERENCE(p.m * p.n)
void gemv_reference(long i, const T* a, const T* b, const T* added, const T* bias, double* out, float alpha, float beta, Problem p) {
  out[i] = product_at(i, a, b, added, bias, alpha, beta, p);
}

// ---- sums ------------------------------------------------------------------------------------------------------------------------------
/// The block's share of k: rounds of words, `stride` elements apart. The rounds of all shares interleave, so that blocks read adjacent
/// memory at any time.
struct Share {
  int begin, stride;

  /// Rounds that begin within `elements` elements from a thread's first word on.
  HONE_DEVICE int whole_rounds(int elements) const { return elements > 0 ? (int)ceil_div((unsigned)elements, (unsigned)stride) : 0; }
};

template <class T, Config c, bool aligned> HONE_DEVICE Share share_of(int index, int shares) {
  constexpr int kRound = in_flight<aligned>(c) * k_at_once<T>(c);
  return {index * kRound, shares * kRound};
}

/// Loads a word that nothing reads again: L2 evicts its line first, and keeps lines that it would have to write back.
template <int N, class T> HONE_DEVICE Vector<T, N> load_once(const T* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  using Word = typename MemoryWord<N * sizeof(T)>::type;
  unsigned long policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  Word word;
  if constexpr (sizeof(Word) == 16) {
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "l"(from), "l"(policy));
  } else if constexpr (sizeof(Word) == 8) {
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v2.b32 {%0, %1}, [%2], %3;"
                 : "=r"(word.x), "=r"(word.y)
                 : "l"(from), "l"(policy));
  } else if constexpr (sizeof(Word) == 4) {
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.b32 %0, [%1], %2;" : "=r"(word) : "l"(from), "l"(policy));
  } else {
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.b16 %0, [%1], %2;" : "=h"(word) : "l"(from), "l"(policy));
  }
  return __builtin_bit_cast(Vector<T, N>, word);
#else
  return load<N>(from);
#endif
}

/// The N elements at `from`, of which the first `count` exist; the others are zero. `aligned`: all or none exist, and they are one aligned
/// word.
template <int N, bool aligned, bool once, class T> HONE_DEVICE Vector<T, N> load_part(long count, const T* from) {
  if constexpr (aligned) {
    if (count > 0) {
      if constexpr (once) return load_once<N>(from);
      return load<N>(from);
    }
  }
  Vector<T, N> word;
#pragma unroll
  for (int e = 0; e < N; ++e) word[e] = !aligned && e < count ? from[e] : T(0.0f);
  return word;
}

/// Adds a round of words to `sums`, one word in each of the lines that are groups_of(c) apart from `at` on, times the element of x for its
/// line. `columns` columns and `lines` lines exist from there on; `whole`: all of the round exists, and no load needs a condition.
template <class T, Config c, bool aligned, bool whole>
HONE_DEVICE void add_column_words(const T* factor, const T* at, float* sums, int lines, long columns, long distance) {
  constexpr int kVec = vec<T>(c), kInFlight = in_flight<aligned>(c);
  Vector<T, kVec> words[kInFlight];
  float factors[kInFlight];
#pragma unroll
  for (int j = 0; j < kInFlight; ++j) {
    const bool exists = whole || j * groups_of(c) < lines;
    words[j] = load_part<kVec, aligned, true>(exists ? (aligned ? kVec : columns) : 0, at + j * distance);
    factors[j] = exists ? (float)factor[j * groups_of(c)] : 0.0f;
  }
#pragma unroll
  for (int j = 0; j < kInFlight; ++j) {
#pragma unroll
    for (int e = 0; e < kVec; ++e) sums[e] = fmaf(factors[j], (float)words[j][e], sums[e]);
  }
}

/// Layout 1: all blocks begin with the same lines. Prefetches 2 MiB from there on into L2, each block its part.
template <class T> HONE_DEVICE void prefetch_part(const T* w, Problem p) {
  const unsigned part = round_up((2u << 20) / (gridDim.x * gridDim.y), 16u);
  const long first = (blockIdx.y * gridDim.x + blockIdx.x) * (long)part;
  if (threadIdx.x == 0 && part > 0 && first + part <= p.n * p.k * (long)sizeof(T)) {
    hopper::bulk_prefetch_l2(reinterpret_cast<const char*>(w) + first, part);
  }
}

/// Layout 1: a thread adds up its words in the lines of its group. Each group stores a sum for each output of the block.
template <class T, Config c, bool aligned> HONE_DEVICE void add_columns(const T* x, const T* w, float* parts, Share share, Problem p) {
  const int lane = (int)threadIdx.x % c.lanes, group = (int)threadIdx.x / c.lanes, first = share.begin + group;
  constexpr int kVec = vec<T>(c), kLast = (in_flight<aligned>(c) - 1) * groups_of(c);  // from the first to the last line of a round
  const long column = (blockIdx.x / c.cluster * (long)c.lanes + lane) * kVec;
  const T *at = w + first * p.n + column, *factor = x + first;
  const long distance = groups_of(c) * p.n, step = share.stride * p.n;
  const int left = column < p.n ? (int)p.k - first : 0, rounds = share.whole_rounds(left - kLast);
  if constexpr (aligned && c.bytes == 16) prefetch_part(w, p);
  hopper::grid_dependency_wait_after(at, factor);
  launch_dependents();
  float sums[kVec] = {};
  for (int round = 0; round < rounds; ++round, at += step, factor += share.stride) {
    add_column_words<T, c, aligned, true>(factor, at, sums, 0, p.n - column, distance);
  }
  const int rest = left - rounds * share.stride;
  if (rest > 0) add_column_words<T, c, aligned, false>(factor, at, sums, rest, p.n - column, distance);
#pragma unroll
  for (int e = 0; e < kVec; ++e) parts[group * outputs_of<T>(c) + lane * kVec + e] = sums[e];
}

/// Adds a round of words of one line, `lanes` words apart, to `sum`; `left` elements exist.
template <class T, Config c, bool aligned, bool whole> HONE_DEVICE float add_row_words(const T* factor, const T* at, float sum, int left) {
  constexpr int kVec = vec<T>(c), kInFlight = in_flight<aligned>(c), kDistance = c.lanes * kVec;
  Vector<T, kVec> words[kInFlight], factors[kInFlight];
#pragma unroll
  for (int j = 0; j < kInFlight; ++j) {
    const long count = whole ? kVec : left - j * kDistance;
    words[j] = load_part<kVec, aligned, true>(count, at + j * kDistance);
    factors[j] = load_part<kVec, aligned, false>(count, factor + j * kDistance);
  }
#pragma unroll
  for (int j = 0; j < kInFlight; ++j) {
#pragma unroll
    for (int e = 0; e < kVec; ++e) sum = fmaf((float)factors[j][e], (float)words[j][e], sum);
  }
  return sum;
}

/// Layout 2: each group has a line, and each of its warps stores a sum.
template <class T, Config c, bool aligned> HONE_DEVICE void add_rows(const T* x, const T* w, float* parts, Share share, Problem p) {
  const int lane = (int)threadIdx.x % c.lanes, group = (int)threadIdx.x / c.lanes;
  constexpr int kVec = vec<T>(c), kAll = (in_flight<aligned>(c) - 1) * c.lanes * kVec + kVec;  // to the end of a round's last word
  const long row = blockIdx.x / c.cluster * (long)groups_of(c) + group;
  const int first = share.begin + lane * kVec;
  const T *at = w + row * p.k + first, *factor = x + first;
  const int left = row < p.n ? (int)p.k - first : 0, rounds = share.whole_rounds(left - kAll + 1);
  if constexpr (aligned && c.bytes == 16) {
    if (lane == 0 && left > 0) hopper::bulk_prefetch_l2(at, min_of(left * (long)sizeof(T), 2L * c.lanes * c.bytes));
  }
  hopper::grid_dependency_wait_after(at, factor);
  launch_dependents();
  float sum = 0.0f;
  for (int round = 0; round < rounds; ++round, at += share.stride, factor += share.stride) {
    sum = add_row_words<T, c, aligned, true>(factor, at, sum, 0);
  }
  const int rest = left - rounds * share.stride;
  if (rest > 0) sum = add_row_words<T, c, aligned, false>(factor, at, sum, rest);
#pragma unroll
  for (int offset = min_of(c.lanes, 32) / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (lane % 32 == 0) parts[lane / 32 * outputs_of<T>(c) + group] = sum;
}

template <class T, Config c, bool aligned>
HONE_DEVICE void add_lines(const T* x, const T* w, float* parts, int index, int shares, Problem p) {
  const Share share = share_of<T, c, aligned>(index, shares);
  if constexpr (!b_is_k_major()) {
    add_columns<T, c, aligned>(x, w, parts, share, p);
  } else {
    add_rows<T, c, aligned>(x, w, parts, share, p);
  }
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.threads)
void gemv(IN(p.m * p.k) const T* __restrict__ a, IN(p.k * p.n) const T* __restrict__ b,
          IN(p.terms % 2 == 0 ? p.m * p.n : 1) const T* __restrict__ added, IN(p.terms >= 3 ? p.n : 1) const T* __restrict__ bias,
          OUT(p.m * p.n) T* __restrict__ out, WORKSPACE(partial_floats<T>(p, c)) float* __restrict__ partial, SCALAR(1.0) float alpha,
          SCALAR(1.0) float beta, Problem p) {
  constexpr int kOutputs = outputs_of<T>(c), kOwn = own_outputs<T>(c);
  SHARED_DYNAMIC(float, parts);
  __shared__ hopper::Mbarrier gathered;
  float* totals = parts + parts_of(c) * kOutputs;  // sums of this block's own outputs, one from each block of the cluster
  const int rank = c.cluster > 1 ? (int)hopper::cluster_rank() : 0;
  if constexpr (c.cluster > 1) {
    if (threadIdx.x == 0) {
      hopper::mbarrier_init(&gathered);
      hopper::mbarrier_arrive_expect_tx(&gathered, 4 * c.cluster * max_of(0, min_of(kOwn, kOutputs - rank * kOwn)));
    }
    __syncwarp();
    hopper::cluster_arrive_relaxed();
  }
  const int index = rank + (int)blockIdx.y, shares = c.cluster * (int)gridDim.y;
  if (whole_words<T>(p, c)) {
    add_lines<T, c, true>(a, b, parts, index, shares, p);
  } else {
    add_lines<T, c, false>(a, b, parts, index, shares, p);
  }
  __syncthreads();
  if constexpr (c.cluster > 1) hopper::cluster_wait();  // all blocks have initialized their mbarriers
  for (int i = (int)threadIdx.x; i < kOutputs; i += c.threads) {
    float sum = 0.0f;
#pragma unroll
    for (int part = 0; part < parts_of(c); ++part) sum += parts[part * kOutputs + i];
    if constexpr (c.cluster > 1) {
      hopper::store_remote_async(&totals[rank * kOwn + i % kOwn], i / kOwn, sum, &gathered);
    } else {
      totals[i] = sum;
    }
  }
  if constexpr (c.cluster > 1) {
    hopper::mbarrier_wait(&gathered, 0);
  } else {
    __syncthreads();
  }
  const Finish<T> finish = {added, bias, alpha, beta};
  for (int i = (int)threadIdx.x; i < kOwn; i += c.threads) {
    const int of_group = rank * kOwn + i;
    const long at = blockIdx.x / c.cluster * (long)kOutputs + of_group;
    if (of_group >= kOutputs || at >= p.n) continue;
    float sum = 0.0f;
#pragma unroll
    for (int other = 0; other < c.cluster; ++other) sum += totals[other * kOwn + i];
    if (c.split != 1 && gridDim.y > 1) {
      partial[blockIdx.y * p.n + at] = sum;
    } else {
      out[at] = T(finish.at(sum, 0, at, p.n));
    }
  }
}

/// Adds up the shares of k in a fixed order: kSumGroups threads share the sum of an element, then one thread adds up theirs.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(kSumOutputs * kSumGroups)
void gemv_sum(IN(p.terms % 2 == 0 ? p.m * p.n : 1) const T* __restrict__ added, IN(p.terms >= 3 ? p.n : 1) const T* __restrict__ bias,
              OUT(p.m * p.n) T* __restrict__ out,
              WORKSPACE(partial_floats<T>(p, c)) const float* partial, SCALAR(1.0) float alpha, SCALAR(1.0) float beta,
              Problem p) {
  grid_dependency_wait();
  launch_dependents();
  __shared__ float sums[kSumGroups][kSumOutputs];
  const int output = (int)threadIdx.x % kSumOutputs, group = (int)threadIdx.x / kSumOutputs;
  const long i = blockIdx.x * (long)kSumOutputs + output;
  float sum = 0.0f;
  if (i < p.n) {
#pragma unroll 8
    for (int s = group; s < split_of<T>(p, c); s += kSumGroups) sum += partial[s * p.n + i];
  }
  sums[group][output] = sum;
  __syncthreads();
  if (group > 0 || i >= p.n) return;
#pragma unroll
  for (int other = 1; other < kSumGroups; ++other) sum += sums[other][output];
  out[i] = T(Finish<T>{added, bias, alpha, beta}.at(sum, 0, i, p.n));
}
