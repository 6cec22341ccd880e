#pragma once
// What is beside the product: copies of matrices whose rows are no multiples of 16 bytes, and last columns of out.

/// Copies a matrix so that its lines begin at multiples of 16 bytes: words of 8 elements, each taken from two aligned ones.
template <class T>
HONE_DEVICE void pack(const T* from, T* to, long lines, long length) {
  const unsigned per_line = (unsigned)ceil_div(length, 8L);
  const long count = lines * length;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned index = (blockIdx.x * 4 + i) * 256 + threadIdx.x;
    if (index >= lines * per_line) continue;
    const unsigned line = index / per_line, word_of_line = index % per_line;
    const long first = line * length + word_of_line * 8, begin = first / 8 * 8;
    const int shift = (int)(first % 8);
    Vector<T, 8> word;
    if (begin + 16 <= count) {
      const Vector<T, 8> low = load<8>(from + begin), high = load<8>(from + begin + 8);
      const Vector<unsigned, 4> a = __builtin_bit_cast(Vector<unsigned, 4>, low), b = __builtin_bit_cast(Vector<unsigned, 4>, high);
      unsigned both[4];
      funnel(both, {a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]}, shift);
      word = __builtin_bit_cast(decltype(word), Vector<unsigned, 4>{both[0], both[1], both[2], both[3]});
    } else {
#pragma unroll
      for (int e = 0; e < 8; ++e) word[e] = first + e < count ? from[first + e] : T(0.0f);
    }
    store(to + line * padded(length) + word_of_line * 8, word);
  }
}

#if defined(HONE_HOPPER)
/// The three warps of a block that neither fetch nor multiply. They take one row of b after another to copy, whichever warp is free, in
/// their order, because the product begins with the first; then rows of out's last columns. A block that waits for copies waits only for
/// rows that a running warp has taken, so that it does not matter which blocks run at the same time.
template <class T, Config c>
struct Chores {
  static constexpr int kRows = 8;  // of one chore at the edge
  Problem p;
  const T *a, *b;
  T *packed_b, *out;
  int* progress;  // rows taken, chores at the edge taken, then how many rows are copied of each 64
  Finish<T, c> finish;

  HONE_DEVICE static int lane() { return (int)threadIdx.x % 32; }
  HONE_DEVICE static int all_of(int first_lane) { return __shfl_sync(0xffffffffu, first_lane, 0); }
  HONE_DEVICE int take(int kind) const { return lane() == 0 ? atomicAdd(progress + kind, 1) : 0; }

  HONE_DEVICE void run() const {
    long done = -1;
    if (copied_b(p, c)) {
      long row = all_of(take(0));
      while (row < p.k) {
        const int next = take(0);  // its answer takes a while
        copy_row(row, done);
        done = row;
        row = all_of(next);
      }
      publish(done);
    }
    const long per_column = ceil_div(p.m, (long)kRows), count = per_column * edge_of(p, c);
    if (count == 0) return;
    long chore = all_of(take(1));
    while (chore < count) {
      const int next = take(1);
      add_edge(chore % per_column * kRows, main_n(p, c) + chore / per_column);
      chore = all_of(next);
    }
  }

  /// Those who multiply copy a row each before they begin: at first there is nothing to multiply.
  HONE_DEVICE void help() const {
    if (!copied_b(p, c)) return;
    const long row = all_of(take(0));
    if (row >= p.k) return;
    copy_row(row, -1);
    publish(row);
  }

  /// A row is copied (-1: none).
  HONE_DEVICE void publish(long row) const {
    if (row < 0) return;
    hopper::fence_async_global();  // the copy engine reads it
    __syncwarp();
    if (lane() == 0) hopper::add_release(progress + 2 + row / 64, 1);
  }

  /// Copies a row, and publishes the one before while its words are on their way.
  HONE_DEVICE void copy_row(long row, long before) const {
    const int words = (int)ceil_div(main_n(p, c), 8L), shift = (int)(row * p.n % 8);
    const T* const from = b + row * p.n - shift;
    T* const to = packed_b + row * padded(p.n);
    if ((row + 1) * p.n + 16 > p.k * p.n) {  // words of the last rows may reach beyond the end
      publish(before);
      for (int i = lane(); i < (int)main_n(p, c); i += 32) to[i] = from[shift + i];
      return;
    }
    for (int base = 0; base < words; base += 256) {
      uint4 word[9];
#pragma unroll
      for (int i = 0; i < 9; ++i) word[i] = load_now(from + min_of(base + 32 * i + (i < 8 ? lane() : 0), words) * 8);
      if (base == 0) publish(before);
      put_words(to, word, base, words, shift);
    }
  }

  /// A read of memory that stays where it is written: the compiler must not put it behind the fences of publish.
  HONE_DEVICE static uint4 load_now(const T* from) {
    uint4 word;
    asm volatile("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w) : "l"(from));
    return word;
  }

  /// 256 words: a lane has the second half of what it writes from its neighbour, the last one from the first one's next word.
  HONE_DEVICE static void put_words(T* to, const uint4 (&word)[9], int base, int words, int shift) {
    const int neighbour = (lane() + 1) % 32;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const uint4 give = lane() == 0 ? word[i + 1] : word[i];
      hopper::u32 all[8] = {word[i].x, word[i].y, word[i].z, word[i].w, give.x, give.y, give.z, give.w}, both[4];
#pragma unroll
      for (int e = 4; e < 8; ++e) all[e] = __shfl_sync(0xffffffffu, all[e], neighbour);
      funnel(both, all, shift);
      const int index = base + 32 * i + lane();
      if (index < words) store_global(reinterpret_cast<unsigned*>(to + index * 8), Vector<unsigned, 4>{both[0], both[1], both[2], both[3]});
    }
  }

  /// Eight rows of a column of out.
  HONE_DEVICE void add_edge(long row, long column) const {
    const T* lines[kRows];
    float sums[kRows] = {};
#pragma unroll
    for (int i = 0; i < kRows; ++i) lines[i] = a + min_of(row + i, p.m - 1) * p.k;
#pragma unroll 4
    for (long k = lane(); k < p.k; k += 32) {
      const float factor = (float)b[k * p.n + column];
#pragma unroll
      for (int i = 0; i < kRows; ++i) sums[i] += (float)lines[i][k] * factor;
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int distance = 16; distance > 0; distance /= 2) sums[i] += __shfl_xor_sync(0xffffffffu, sums[i], distance);
      if (lane() == i && row + i < p.m) finish.template write<1>(out, {sums[i]}, row + i, column, p.n);
    }
  }
};
#endif
