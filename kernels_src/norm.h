#pragma once
// What layernorm, rmsnorm and residual_rmsnorm share: y = (x - center) * scale * weight + bias for each row, with a center and a scale from
// the row's own statistics. One read of x, one write of y; weights come out of the L1 cache, which the stream of x passes by.
// The file that includes this one says before it: kResidual (a second matrix is added to x, and their sum is a result) and kBiased.
#include "rows.h"

// ---- what is known of a part of a row --------------------------------------------------------------------------------------------------
/// 1 / x for the counts below: no zero, no tiny number.
HONE_DEVICE float reciprocal(float x) {
#if defined(__CUDACC__)
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#else
  return 1.0f / x;
#endif
}

/// Sums of squares, for the root mean square. No cancellation, so plain sums are sound.
struct SquareSum {
  float sum;

  HONE_DEVICE static SquareSum none() { return {0.0f}; }
  HONE_DEVICE static SquareSum join(SquareSum a, SquareSum b) { return {a.sum + b.sum}; }
  HONE_DEVICE static SquareSum of(float value) { return {value * value}; }
  /// Of `words` words, of which those for which present(j) is false are zero.
  template <int words, int vec, class Present> HONE_DEVICE static SquareSum of(const float (&value)[words][vec], Present) {
    float sum = 0;
#pragma unroll
    for (int j = 0; j < words; ++j) {
#pragma unroll
      for (int e = 0; e < vec; ++e) sum += value[j][e] * value[j][e];
    }
    return {sum};
  }
  HONE_DEVICE float center() const { return 0.0f; }
  HONE_DEVICE float scale(long cols, float epsilon) const { return rsqrtf(sum / (float)cols + epsilon); }
};

/// Count, mean and sum of squared differences from the mean. A thread takes the mean of what it holds before the differences, and parts
/// are joined by the formula of Chan, Golub and LeVeque ("Updating formulae and a pairwise algorithm for computing sample variances",
/// 1979): sound however far the mean is from zero, where sum(x^2) - sum(x)^2 / n has nothing left.
struct Moments {
  float count, mean, squares;

  HONE_DEVICE static Moments none() { return {0.0f, 0.0f, 0.0f}; }
  HONE_DEVICE static Moments join(Moments a, Moments b) {
    const float count = a.count + b.count, difference = b.mean - a.mean, share = b.count * reciprocal(fmaxf(count, 1.0f));
    return {count, a.mean + difference * share, a.squares + b.squares + difference * difference * a.count * share};
  }
  HONE_DEVICE static Moments of(float value) { return {1.0f, value, 0.0f}; }
  template <int words, int vec, class Present> HONE_DEVICE static Moments of(const float (&value)[words][vec], Present present) {
    constexpr int kFull = words * vec;
    float sum = 0, squares = 0;
    int count = 0;
#pragma unroll
    for (int j = 0; j < words; ++j) {
      count += present(j) ? vec : 0;
#pragma unroll
      for (int e = 0; e < vec; ++e) sum += value[j][e];
    }
    const float mean = sum * (count == kFull ? 1.0f / kFull : reciprocal((float)max_of(count, 1)));
#pragma unroll
    for (int j = 0; j < words; ++j) {
      if (!present(j)) continue;
#pragma unroll
      for (int e = 0; e < vec; ++e) squares += (value[j][e] - mean) * (value[j][e] - mean);
    }
    return {(float)count, mean, squares};
  }
  HONE_DEVICE float center() const { return mean; }
  HONE_DEVICE float scale(long cols, float epsilon) const { return rsqrtf(squares / (float)cols + epsilon); }
};

/// A plain sum. Two make the moments: of the elements, then of their squared differences from the mean.
struct Total {
  float sum;

  HONE_DEVICE static Total join(Total a, Total b) { return {a.sum + b.sum}; }
};

/// What the threads of a row join.
template <class Statistic, bool twice> struct JoinedOf { using type = Statistic; };
template <class Statistic> struct JoinedOf<Statistic, true> { using type = Total; };

/// What makes x normal: (x - center) * scale.
struct Normalizer {
  float center, scale;
};

// ---- weights ---------------------------------------------------------------------------------------------------------------------------
enum class Weights {
  late,   // loaded word by word as they are used: the fewest registers
  early,  // loaded before the threads of a row wait for each other: their latency hides behind the wait
};

/// Words of a vector for the words of a row. Where a row starts in the middle of a word (`aligned` is false), words of x are no words of
/// the weights: then each is put together from elements, one word at a time, because together they would take most of the registers.
template <class T, auto c> struct WeightsOfRow {
  static constexpr int kVec = c.bytes / (int)sizeof(T), kHeld = c.held / kVec;
  const T* weights;
  Word<T, kVec> held[kHeld];

  HONE_DEVICE void load(const Row<T, c>& row, bool aligned) {
    if (!aligned) return;
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      if (row.has(k)) held[k] = load_word<T, kVec>(weights + row.column(k));
    }
  }
  HONE_DEVICE Word<T, kVec> at(long column, bool aligned) const {
    if (aligned) return load_word<T, kVec>(weights + column);
    float word[kVec];
#pragma unroll
    for (int e = 0; e < kVec; ++e) word[e] = (float)weights[column + e];
    asm volatile("" ::: "memory");  // the next word's loads stay behind these
    return pack<T>(word);
  }
};

// ---- the space -------------------------------------------------------------------------------------------------------------------------
struct Problem {
  long rows = 4096, cols = 4096;
};

// What an H200 taught: rows of up to 32 KiB are fastest with a block each, held in registers (in_flight = 0) or fetched by one bulk copy.
// Few long rows want a multiprocessor each (or two, cluster = 2) with the rest in shared memory: 128 rows of 131072 so take half the time
// of reading them again.
struct Config {
  TUNE(64, 128, 256, 512, 1024) int block = 256;     // threads in a block
  TUNE(4, 8, 16, 32, 64, 128, 256, 512, 1024) int row_threads = 256;  // of a block that share a row: it has block / row_threads rows
  TUNE(1, 2, 4, 8, 16) int cluster = 1;              // blocks that share a row: long rows stay on chip, few rows fill the device
  TUNE(4, 8, 16) int bytes = 16;                     // of one access: 16 is the widest there is, less gives short rows more threads
  TUNE(4, 8, 16, 32, 64) int held = 32;              // elements of a row that a thread holds in registers
  TUNE(0, 1, 2, 4) int in_flight = 1;                // words of the rest that a thread loads before it uses them; 0: there is no rest
  TUNE(false, true) bool rest_shared = false;        // the rest is kept in shared memory, as far as it fits, instead of read again
  TUNE(false, true) bool edges = true;               // rows may begin and end inside a word; without that code 10 to 30 registers fewer
  TUNE(false, true) bool bulk = false;               // a bulk copy brings rows into shared memory; else threads load for themselves
  TUNE(false, true) bool twice = kBiased;            // the threads of a row join sums twice (mean, then squares) instead of moments once:
                                                     // half of the instructions, but one more wait for each other
  TUNE(Weights::late, Weights::early) Weights weights = Weights::late;   // when they are loaded
  TUNE(false, true) bool stream_load = false;        // lines of x leave the caches first: the weights stay in L1
  TUNE(false, true) bool stream_store = false;       // lines of y leave the cache first
  TUNE(1, 2, 4, 8) int min_blocks = 4;               // resident on a multiprocessor: caps the registers of a thread
};

template <class T> HONE_BOTH constexpr int vec(Config c) { return c.bytes / (int)sizeof(T); }

/// Words for each thread behind those it holds.
template <class T> HONE_BOTH constexpr long rest(Problem p, Config c) {
  return words_behind(p.cols / vec<T>(c), c.row_threads * c.cluster, c.held / vec<T>(c), c.in_flight);
}

constexpr long kKeptBytes = 208 << 10;  // of a multiprocessor's shared memory, at most

/// Words behind those it holds that a thread keeps in shared memory, in whole rounds of in_flight.
HONE_BOTH constexpr long most_kept(Config c) {
  const long round = max_of(c.in_flight, 1);
  return c.rest_shared ? kKeptBytes / c.min_blocks / (c.block * c.bytes * (kResidual ? 2 : 1)) / round * round : 0;
}

template <class T> HONE_BOTH constexpr long shared_bytes(Problem p, Config c) {
  const long inputs = kResidual ? 2 : 1;
  if (c.bulk) return bulk_bytes<T>(c.block / c.row_threads, p.cols, c.cluster) * inputs;
  return min_of(rest<T>(p, c), most_kept(c)) * c.block * c.bytes * inputs;
}

HONE_BOTH constexpr long groups_of(Problem p, Config c) { return ceil_div(p.rows, (long)(c.block / c.row_threads)); }

/// Whether threads are dealt out as in the default, which is there for any shape.
HONE_BOTH constexpr bool usual(Config c) { return c.block == 256 && c.row_threads == 256 && c.cluster == 1 && c.held == 32; }

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.bytes < (int)sizeof(T)) return false;                                     // a word holds at least one element
  if (c.block > d.threads_per_block) return false;                                // the device's limit
  if (c.row_threads > c.block) return false;                                      // a block holds whole rows (or a cluster's share of one)
  if (c.cluster > 1 && c.row_threads < c.block) return false;                     // a cluster works on one row
  if (c.cluster > 1 && d.compute_capability < 90) return false;                   // clusters came with Hopper
  if (c.bulk && d.compute_capability > 0 && d.compute_capability < 90) return false;  // and so did bulk copies
  if (c.bulk && c.bytes < 16) return false;                                       // which move words of 16 bytes
  if (c.bulk && p.cols < 2 * vec<T>(c)) return false;                             // and every row has one
  if (c.held < vec<T>(c)) return false;                                           // a thread holds at least one word
  if (c.in_flight * vec<T>(c) > 32) return false;                                 // and so are those in flight
  if (c.row_threads < vec<T>(c)) return false;                                    // a thread takes one element of an edge
  if (c.block * c.min_blocks > d.threads_per_multiprocessor) return false;        // they could not be resident
  if (c.min_blocks > 1 && (c.held + 24) * c.block * c.min_blocks > d.registers_per_multiprocessor) return false;  // spills
  if (c.row_threads < c.block && p.cols / vec<T>(c) > 32 * c.row_threads) return false;  // rows so long are for all threads of a block
  if (c.row_threads > 256 && c.row_threads * vec<T>(c) > p.cols) return false;    // threads without an element
  if (c.cluster > 1 && c.cluster * c.row_threads * vec<T>(c) > p.cols) return false;  // threads without an element
  if (c.held > 32 && (c.held / 2) * c.cluster * c.row_threads >= p.cols) return false;  // registers that no element reaches
  if (c.twice && !kBiased) return false;                                          // the mean is not asked for
  if (!c.edges && p.cols % vec<T>(c) != 0) return false;                          // rows do begin inside a word
  if (c.edges && p.cols % vec<T>(c) == 0 && !usual(c)) return false;              // no row does: registers for nothing
  if (c.in_flight == 0 && rest<T>(p, c) > 0) return false;                        // there is a rest
  if (c.in_flight > 1 && rest<T>(p, c) == 0) return false;                        // nothing to have in flight
  if (c.in_flight > 0 && rest<T>(p, c) == 0 && !usual(c)) return false;           // code for nothing
  if (rest<T>(p, c) > 0 && !c.rest_shared && !c.bulk && !usual(c)) return false;  // reading again costs up to twice the time
  if (c.bytes < 16 && p.cols > 2048) return false;                                // narrow words are for rows of few
  if (c.min_blocks > 1 && c.block * c.min_blocks < 512) return false;             // as many are resident without being asked
  if (c.cluster > 1 && p.cols * sizeof(T) < (128 << 10)) return false;            // one block keeps such a row on chip
  if (c.cluster > 2 && p.cols * sizeof(T) <= (512 << 10)) return false;           // and two such a row
  if (c.block < 512 && p.cols * sizeof(T) >= (128 << 10) && !usual(c)) return false;  // few rows at a time: each needs many threads
  if (c.rest_shared && rest<T>(p, c) == 0) return false;                          // nothing to keep
  if (c.rest_shared && most_kept(c) == 0) return false;                           // no round of it fits
  if (c.rest_shared && c.bulk) return false;                                      // the whole row is there
  if (shared_bytes<T>(p, c) + 2048 > d.shared_memory_per_block) return false;     // the device's limit, beside the partial results
  return (shared_bytes<T>(p, c) + 3072) * c.min_blocks <= d.shared_memory_per_multiprocessor;  // more only queue
}

template <class T> constexpr Launch launch(Problem p, Config c) {
  return {.grid = {groups_of(p, c) * c.cluster},
          .block = {c.block},
          .cluster = {c.cluster},
          .shared = shared_bytes<T>(p, c)};
}

// ---- the kernel ------------------------------------------------------------------------------------------------------------------------
/// Null pointers for what the kernel does without.
template <class T> struct NormArguments {
  const T *x, *residual, *weight, *bias;
  T *y, *sum;  // sum: x + residual
};

template <class T, Config c, class Statistic> struct Norm {
  static constexpr int kVec = c.bytes / (int)sizeof(T), kHeld = c.held / kVec, kInputs = kResidual ? 2 : 1;
  static constexpr int kBatch = max_of(c.in_flight, 1);
  using RowWord = Word<T, kVec>;
  using RowOfThread = Row<T, c>;
  const NormArguments<T>& a;
  Slots<typename JoinedOf<Statistic, c.twice>::type>* slots;  // two
  RowWord* kept;            // this thread's place in shared memory for the rest
  WeightsOfRow<T, c> weight, bias;

  HONE_DEVICE void load_weights(const RowOfThread& row, bool aligned) {
    weight.load(row, aligned);
    if constexpr (kBiased) bias.load(row, aligned);
  }

  /// What is to be normalized: x, or x + residual.
  HONE_DEVICE void take(const RowWord& x, const RowWord& residual, float (&value)[kVec]) const {
#pragma unroll
    for (int e = 0; e < kVec; ++e) value[e] = kResidual ? x[e] + residual[e] : x[e];
  }
  HONE_DEVICE float take(long at) const { return kResidual ? (float)a.x[at] + (float)a.residual[at] : (float)a.x[at]; }

  /// The difference first: of nearly equal values it is exact. A 16-bit x has no digits left long before value * scale - center * scale,
  /// one instruction less, loses any.
  HONE_DEVICE static float normal_of(float value, Normalizer normal) {
    if constexpr (!kBiased) return value * normal.scale;
    if constexpr (sizeof(T) == 2) return fmaf(value, normal.scale, -normal.center * normal.scale);
    return (value - normal.center) * normal.scale;
  }

  HONE_DEVICE void write(const RowOfThread& row, int k, const float (&value)[kVec], const RowWord& w, const RowWord& b,
                         Normalizer normal) const {
    float result[kVec];
#pragma unroll
    for (int e = 0; e < kVec; ++e) {
      const float normal_value = normal_of(value[e], normal);
      result[e] = kBiased ? normal_value * w[e] + b[e] : normal_value * w[e];
    }
    row.write(a.y, k, pack<T>(result));
    if constexpr (kResidual) row.write(a.sum, k, pack<T>(value));
  }
  HONE_DEVICE void write(long at, long column, Normalizer normal) const {
    const float value = take(at), scaled = normal_of(value, normal) * (float)a.weight[column];
    a.y[at] = T(kBiased ? scaled + (float)a.bias[column] : scaled);
    if constexpr (kResidual) a.sum[at] = T(value);
  }

  /// Calls visitor(k, values) for the words that are not held, kBatch at a time; the first visit reads them from device memory.
  template <bool first, class Visitor>
  HONE_DEVICE void visit_rest(const RowOfThread& row, const RowOfThread& other, Visitor visitor) const {
    if constexpr (c.in_flight > 0) {
      for (int k = kHeld; row.has(k); k += kBatch) {
        const bool keep = c.rest_shared && k < kHeld + (int)most_kept(c);
        RowWord word[kInputs][kBatch];
#pragma unroll
        for (int j = 0; j < kBatch; ++j) {
#pragma unroll
          for (int i = 0; i < kInputs; ++i) {
            if (keep && !first) {
              word[i][j] = kept[((k + j - kHeld) * kInputs + i) * c.block];
            } else {
              word[i][j] = (i == 0 ? row : other).read(k + j, 0.0f);
            }
          }
        }
        float value[kBatch][kVec];
#pragma unroll
        for (int j = 0; j < kBatch; ++j) {
#pragma unroll
          for (int i = 0; i < kInputs; ++i) {
            if (keep && first) kept[((k + j - kHeld) * kInputs + i) * c.block] = word[i][j];
          }
          take(word[0][j], word[kInputs - 1][j], value[j]);
        }
        visitor(k, value);
      }
    }
  }

  HONE_DEVICE Statistic statistic(const RowOfThread& row, const RowOfThread& other, const float (&held)[kHeld][kVec]) const {
    Statistic part = Statistic::of(held, [&](int k) { return row.has(k); });
    if (row.in_head()) part = Statistic::join(part, Statistic::of(take(row.head_at())));
    if (row.in_tail()) part = Statistic::join(part, Statistic::of(take(row.tail_at())));
    visit_rest<true>(row, other, [&](int k, const float (&value)[kBatch][kVec]) {
      part = Statistic::join(part, Statistic::of(value, [&](int j) { return row.has(k + j); }));
    });
    return part;
  }

  /// The sum of term(value) over what this thread has of the row.
  template <bool first, class Term>
  HONE_DEVICE Total total(const RowOfThread& row, const RowOfThread& other, const float (&held)[kHeld][kVec], Term term) const {
    float sum = row.in_head() ? term(take(row.head_at())) : 0.0f;
    if (row.in_tail()) sum += term(take(row.tail_at()));
    const auto add = [&](int k, const float (&value)[kVec]) {
      if (!row.has(k)) return;
#pragma unroll
      for (int e = 0; e < kVec; ++e) sum += term(value[e]);
    };
#pragma unroll
    for (int k = 0; k < kHeld; ++k) add(k, held[k]);
    visit_rest<first>(row, other, [&](int k, const float (&value)[kBatch][kVec]) {
#pragma unroll
      for (int j = 0; j < kBatch; ++j) add(k + j, value[j]);
    });
    return {sum};
  }

  HONE_DEVICE Normalizer normalizer(const Rows<T, c, kInputs>& rows, const RowOfThread& row, const RowOfThread& other,
                                    const float (&held)[kHeld][kVec], float epsilon) const {
    if constexpr (c.twice) {
      const float share = 1.0f / (float)rows.cols;  // before the wait
      const Total sum = total<true>(row, other, held, [](float value) { return value; });
      rows.meet();
      const float mean = join_row<c>(sum, slots[0]).sum * share;
      const Total squares = total<false>(row, other, held, [&](float value) { return (value - mean) * (value - mean); });
      return {mean, rsqrtf(join_row<c>(squares, slots[1]).sum * share + epsilon)};
    } else {
      const Statistic part = statistic(row, other, held);
      rows.meet();
      const Statistic whole = join_row<c>(part, slots[0]);
      return {whole.center(), whole.scale(rows.cols, epsilon)};
    }
  }

  HONE_DEVICE void write_row(const RowOfThread& row, const RowOfThread& other, const float (&held)[kHeld][kVec], bool aligned,
                             Normalizer normal) const {
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      if (!row.has(k)) continue;
      const bool loaded = aligned && c.weights != Weights::late;
      const RowWord w = loaded ? weight.held[k] : weight.at(row.column(k), aligned);
      const RowWord b = !kBiased ? w : loaded ? bias.held[k] : bias.at(row.column(k), aligned);
      write(row, k, held[k], w, b, normal);
    }
    if (row.in_head()) write(row.head_at(), row.lane, normal);
    if (row.in_tail()) write(row.tail_at(), row.tail_at() - row.start, normal);
    visit_rest<false>(row, other, [&](int k, const float (&value)[kBatch][kVec]) {
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        if (!row.has(k + j)) continue;
        const RowWord w = weight.at(row.column(k + j), aligned), b = kBiased ? bias.at(row.column(k + j), aligned) : w;
        write(row, k + j, value[j], w, b, normal);
      }
    });
  }

  HONE_DEVICE void run(Rows<T, c, kInputs> rows, float epsilon) {
    rows.begin();
    const RowOfThread row = rows.row(0), other = rows.row(kInputs - 1);
    const bool aligned = !c.edges || row.column(0) % kVec == 0;
    RowWord x[kHeld], residual[kHeld];
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      x[k] = row.read(k, 0.0f);
      if constexpr (kResidual) residual[k] = other.read(k, 0.0f);
    }
    if constexpr (c.weights == Weights::early) load_weights(row, aligned);
    float held[kHeld][kVec];
#pragma unroll
    for (int k = 0; k < kHeld; ++k) take(x[k], residual[k], held[k]);
    write_row(row, other, held, aligned, normalizer(rows, row, other, held, epsilon));
  }
};
