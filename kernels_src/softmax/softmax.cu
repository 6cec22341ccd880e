// Row-wise softmax: y[r, c] = exp(x[r, c] - max_r) / sum_r.
#include <hone/kernel.h>

struct Problem {
  long rows = 4096, cols = 4096;
};

// A row is read in aligned words of `bytes`; the few elements before the first and behind the last are dealt with one by one. Each thread
// holds its first `held` words in registers; the rest of a longer row is kept in shared memory or read again. So any row length works with
// any configuration, and a good one reads each element once.
struct Config {
  TUNE(32, 64, 128, 256, 512, 1024) int block = 256;  // threads in a block
  TUNE(4, 8, 16, 32, 64, 128, 256, 512, 1024) int row_threads = 256;  // of a block that share a row: it has block / row_threads rows
  TUNE(1, 2, 4, 8) int cluster = 1;          // blocks that share a row: long rows stay on chip, few rows fill the device
  TUNE(2, 4, 8, 16) int bytes = 16;          // of one access: 16 is the widest there is
  TUNE(1, 2, 4, 8, 16) int held = 4;         // words of a row that a thread holds in registers
  TUNE(1, 2, 4) int in_flight = 1;           // words of the rest that a thread loads before it uses them
  TUNE(false, true) bool rest_shared = false;  // the rest is kept in shared memory instead of read again
  TUNE(false, true) bool online = true;      // maximum and sum in one pass over the row instead of two
  TUNE(1, 2, 4, 8) int min_blocks = 1;       // resident on a multiprocessor: caps the registers of a thread
};

template <class T> HONE_BOTH constexpr int vec(Config c) { return c.bytes / (int)sizeof(T); }
HONE_BOTH constexpr int threads_of_row(Config c) { return c.row_threads * c.cluster; }

/// Words of the rest for each thread, made up to whole rounds of in_flight.
template <class T> HONE_BOTH constexpr long rest_words(Problem p, Config c) {
  return round_up(max_of(0L, ceil_div(p.cols / vec<T>(c), (long)threads_of_row(c)) - c.held), (long)c.in_flight);
}

template <class T> HONE_BOTH constexpr long shared_bytes(Problem p, Config c) {
  return c.rest_shared ? rest_words<T>(p, c) * c.block * c.bytes : 0;
}

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.bytes < (int)sizeof(T)) return false;                                     // a word holds at least one element
  if (c.block > d.threads_per_block) return false;                                // the device's limit
  if (c.row_threads > c.block) return false;                                      // a block holds whole rows (or a cluster's share of one)
  if (c.cluster > 1 && c.row_threads < c.block) return false;                     // a cluster works on one row
  if (c.cluster > 1 && d.compute_capability < 90) return false;                   // clusters came with Hopper
  if (c.held * vec<T>(c) > 64) return false;                                      // held elements are floats in registers
  if (c.in_flight * vec<T>(c) > 32) return false;                                 // and so are those in flight
  if (threads_of_row(c) < vec<T>(c)) return false;                                // a thread takes one element of an edge
  if (c.block * c.min_blocks > d.threads_per_multiprocessor) return false;        // they could not be resident
  if (c.min_blocks > 1 && (c.held * vec<T>(c) + 24) * c.block * c.min_blocks > d.registers_per_multiprocessor) return false;  // spills
  if (c.row_threads > 256 && c.row_threads * vec<T>(c) > p.cols) return false;    // threads without an element
  if (c.cluster > 1 && threads_of_row(c) * vec<T>(c) > p.cols) return false;      // threads without an element
  if (c.held > 4 && (c.held / 2) * threads_of_row(c) >= p.cols / vec<T>(c)) return false;  // registers that no element reaches
  if (c.in_flight > 1 && rest_words<T>(p, c) == 0) return false;                  // nothing to have in flight
  if (c.rest_shared && rest_words<T>(p, c) == 0) return false;                    // nothing to keep
  return shared_bytes<T>(p, c) * c.min_blocks + 1024 <= d.shared_memory_per_block;  // the device's limit, beside the partial sums
}

template <class T> constexpr Launch launch(Problem p, Config c) {
  return {.grid = {ceil_div(p.rows, (long)(c.block / c.row_threads)) * c.cluster},
          .block = {c.block},
          .cluster = {c.cluster},
          .shared = shared_bytes<T>(p, c)};
}

template <class T> constexpr Cost cost(Problem p) {
  return {.flops = 5.0 * p.rows * p.cols, .bytes = 2.0 * p.rows * p.cols * sizeof(T), .sum_length = 1.0 * p.cols};
}

template <class T> REFERENCE(p.rows) void softmax_reference(long r, const T* x, double* y, Problem p) {
  double largest = (float)x[r * p.cols], sum = 0;
  for (long c = 1; c < p.cols; ++c) largest = fmax(largest, (double)(float)x[r * p.cols + c]);
  for (long c = 0; c < p.cols; ++c) sum += exp((double)(float)x[r * p.cols + c] - largest);
  for (long c = 0; c < p.cols; ++c) y[r * p.cols + c] = exp((double)(float)x[r * p.cols + c] - largest) / sum;
}

// ---- arithmetic ------------------------------------------------------------------------------------------------------------------------
constexpr float kLowest = -3.4e38f;  // where a maximum starts: finite, because infinity minus infinity is no number

/// exp(x - largest). The difference comes first: log2(e) * x - log2(e) * largest would lose what they have in common.
HONE_DEVICE float exp_below(float x, float largest) {
  const float exponent = (x - largest) * 1.44269504f;  // log2(e)
#if defined(__CUDACC__)
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(exponent));
  return result;
#else
  return exp2f(exponent);
#endif
}

/// What is known of a part of a row: its maximum, and the sum of exp(x - maximum).
struct Part {
  float largest, sum;
};

HONE_DEVICE Part join(Part a, Part b) {
  const float largest = fmaxf(a.largest, b.largest);
  return {largest, a.sum * exp_below(a.largest, largest) + b.sum * exp_below(b.largest, largest)};
}

template <int lanes> HONE_DEVICE Part join_lanes(Part part) {
#pragma unroll
  for (int offset = lanes / 2; offset > 0; offset /= 2) {
    const Part other = {__shfl_xor_sync(0xffffffffu, part.largest, offset), __shfl_xor_sync(0xffffffffu, part.sum, offset)};
    part = join(part, other);
  }
  return part;
}

// ---- clusters (Hopper) -----------------------------------------------------------------------------------------------------------------
#if defined(__CUDACC__)
HONE_DEVICE int cluster_rank() { int rank; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank)); return rank; }
HONE_DEVICE void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
HONE_DEVICE void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
/// `part` as it stands in the shared memory of block `rank` of the cluster.
HONE_DEVICE Part read_remote(const Part* part, int rank) {
  Part remote;
  asm volatile("{ .reg .u32 at; mapa.shared::cluster.u32 at, %2, %3; ld.shared::cluster.v2.f32 {%0, %1}, [at]; }"
               : "=f"(remote.largest), "=f"(remote.sum)
               : "r"((unsigned)__cvta_generic_to_shared(part)), "r"(rank)
               : "memory");
  return remote;
}
#else
HONE_DEVICE int cluster_rank() { return 0; }
HONE_DEVICE void cluster_arrive() {}
HONE_DEVICE void cluster_wait() {}
HONE_DEVICE Part read_remote(const Part* part, int) { return *part; }
#endif

struct alignas(8) Slots {
  Part of_warp[32], of_block;
};

/// Joins the parts of all threads of a row and gives the result to each of them.
template <Config c> HONE_DEVICE Part join_row(Part part, Slots& slots) {
  part = join_lanes<min_of(c.row_threads, 32)>(part);
  if constexpr (c.row_threads > 32) {
    constexpr int kWarps = c.row_threads / 32;
    const int warp = (int)threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) slots.of_warp[warp] = part;
    __syncthreads();
    part = join_lanes<kWarps>(slots.of_warp[warp / kWarps * kWarps + (int)threadIdx.x % kWarps]);
  }
  if constexpr (c.cluster > 1) {
    if (threadIdx.x == 0) slots.of_block = part;
    cluster_arrive();
    cluster_wait();
    part = join_lanes<c.cluster>(read_remote(&slots.of_block, (int)threadIdx.x % c.cluster));
  }
  return part;
}

// ---- the row ---------------------------------------------------------------------------------------------------------------------------
/// A thread's view of its row: `head` elements, `words` aligned words, `tail` elements.
template <class T, Config c> struct Row {
  static constexpr int kVec = vec<T>(c);
  using Word = Vector<T, kVec>;
  const T* x;
  T* y;
  long words;
  int head, tail, lane;  // lane: of this thread among the threads_of_row(c)

  /// The index of this thread's k-th word.
  HONE_DEVICE long word(long k) const { return k * threads_of_row(c) + lane; }

  /// This thread's k-th word, -infinity where the row has none.
  HONE_DEVICE Word read(long k) const {
    if (word(k) < words) return load<kVec>(x + head + word(k) * kVec);
    Word none;
#pragma unroll
    for (int e = 0; e < kVec; ++e) none[e] = T(-INFINITY);
    return none;
  }
  HONE_DEVICE void write(long k, const Word& value) const {
    if (word(k) < words) store_global(y + head + word(k) * kVec, value);
  }

  HONE_DEVICE long tail_at() const { return head + words * kVec + lane; }
  HONE_DEVICE float read_head() const { return lane < head ? (float)x[lane] : -INFINITY; }
  HONE_DEVICE float read_tail() const { return lane < tail ? (float)x[tail_at()] : -INFINITY; }
  HONE_DEVICE void write_edges(float at_head, float at_tail) const {
    if (lane < head) y[lane] = T(at_head);
    if (lane < tail) y[tail_at()] = T(at_tail);
  }

  /// Calls visit(k, word) for this thread's words that are not held, in_flight at a time. The first visit reads x and fills `kept`.
  template <bool first_visit, class Visit> HONE_DEVICE void visit_rest(Word* kept, Visit visit) const {
    for (long k = c.held; word(k) < words; k += c.in_flight) {
      Word batch[c.in_flight];
#pragma unroll
      for (int j = 0; j < c.in_flight; ++j) {
        batch[j] = first_visit || !c.rest_shared ? read(k + j) : kept[(k + j - c.held) * c.block];
      }
#pragma unroll
      for (int j = 0; j < c.in_flight; ++j) {
        if (first_visit && c.rest_shared) kept[(k + j - c.held) * c.block] = batch[j];
        visit(k + j, batch[j]);
      }
    }
  }
};

template <class T, Config c> HONE_DEVICE Row<T, c> row_of_thread(const T* x, T* y, Problem p) {
  constexpr int kVec = vec<T>(c);
  const int rank = c.cluster > 1 ? cluster_rank() : 0;
  const long r = (long)blockIdx.x / c.cluster * (c.block / c.row_threads) + (int)threadIdx.x / c.row_threads;
  const long cols = r < p.rows ? p.cols : 0;  // the last block's surplus threads stay for the barriers, with an empty row
  const int head = (int)min_of(cols, (kVec - r * p.cols % kVec) % kVec);
  const long words = (cols - head) / kVec;
  const int tail = (int)(cols - head - words * kVec), lane = rank * c.row_threads + (int)threadIdx.x % c.row_threads;
  return {x + r * p.cols, y + r * p.cols, words, head, tail, lane};
}

template <class T, Config c>
KERNEL LAUNCH_BOUNDS(c.block, c.min_blocks)
void softmax(IN(p.rows * p.cols) const T* __restrict__ x, OUT(p.rows * p.cols) T* __restrict__ y, Problem p) {
  constexpr int kVec = vec<T>(c);
  using Word = Vector<T, kVec>;
  __shared__ Slots slots[2];
  SHARED_DYNAMIC(Word, shared);
  Word* kept = shared + threadIdx.x;
  const Row<T, c> row = row_of_thread<T, c>(x, y, p);

  Word word[c.held];
#pragma unroll
  for (int k = 0; k < c.held; ++k) word[k] = row.read(k);
  const float head = row.read_head(), tail = row.read_tail();
  float held[c.held][kVec], largest = fmaxf(kLowest, fmaxf(head, tail));
#pragma unroll
  for (int k = 0; k < c.held; ++k) {
#pragma unroll
    for (int e = 0; e < kVec; ++e) largest = fmaxf(largest, held[k][e] = (float)word[k][e]);
  }
  if constexpr (!c.online) {
    row.template visit_rest<true>(kept, [&](long, const Word& w) {
#pragma unroll
      for (int e = 0; e < kVec; ++e) largest = fmaxf(largest, (float)w[e]);
    });
    largest = join_row<c>({largest, 0.0f}, slots[0]).largest;
  }

  Part part = {largest, exp_below(head, largest) + exp_below(tail, largest)};
#pragma unroll
  for (int k = 0; k < c.held; ++k) {
#pragma unroll
    for (int e = 0; e < kVec; ++e) part.sum += held[k][e] = exp_below(held[k][e], largest);
  }
  row.template visit_rest<c.online>(kept, [&](long, const Word& w) {
    float next = part.largest;
    if constexpr (c.online) {
#pragma unroll
      for (int e = 0; e < kVec; ++e) next = fmaxf(next, (float)w[e]);
      part.sum *= exp_below(part.largest, next);
      part.largest = next;
    }
#pragma unroll
    for (int e = 0; e < kVec; ++e) part.sum += exp_below((float)w[e], next);
  });
  part = join_row<c>(part, slots[1]);
  if constexpr (c.cluster > 1) cluster_arrive();

  const float scale = 1.0f / part.sum, held_scale = scale * exp_below(largest, part.largest);
#pragma unroll
  for (int k = 0; k < c.held; ++k) {
#pragma unroll
    for (int e = 0; e < kVec; ++e) word[k][e] = T(held[k][e] * held_scale);
    row.write(k, word[k]);
  }
  row.write_edges(exp_below(head, part.largest) * scale, exp_below(tail, part.largest) * scale);
  row.template visit_rest<false>(kept, [&](long k, const Word& w) {
    Word result;
#pragma unroll
    for (int e = 0; e < kVec; ++e) result[e] = T(exp_below((float)w[e], part.largest) * scale);
    row.write(k, result);
  });
  if constexpr (c.cluster > 1) cluster_wait();  // no block may end while another reads its slot
}
