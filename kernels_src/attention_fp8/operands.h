#pragma once
// How weights and values of 8 bits become operands, and sums results. Products of 8 bits take both operands along what is summed, 32 keys
// in a step. A thread's weights are of other keys than those that the instruction expects of it: they stay where they are, and the keys of
// the transposed values are in their order (transpose_values.h). So are the columns, such that each thread has four that are neighbours.
#include "../attention_wgmma/consumer.h"
#include "../packet.h"

#if defined(HONE_HOPPER)
template <>
struct Operands<e4m3> {
  static constexpr int kRaise = 8;  // the largest weight is 256 of at most 448: the smallest ones keep more digits

  struct Scales {
    float scale;
    const float *of_q, *of_k, *of_v;  // of each head
    HONE_DEVICE float of_scores(const Work& work, long group) const { return scale * of_q[work.head] * of_k[work.head / group]; }
  };

  template <Config c>
  static HONE_DEVICE hopper::u64 operand(hopper::u32 stage, int step) {
    return hopper::matrix_descriptor(stage + step / 4 * (int)Problem::head * 128, 16, 8 * 128) + step % 4 * 2;
  }

  /// Of 32 keys, weights 16i and on are of the keys t, t + 1, t + 8, t + 9 and these plus 16, with t = lane % 4 * 2; of two rows in turn.
  template <int n>
  static HONE_DEVICE void round(hopper::u32 (&weights)[n / 4], const float (&scores)[n]) {
#pragma unroll
    for (int i = 0; i < n / 4; ++i) {
      const int first = i / 4 * 16 + i / 2 % 2 * 8 + i % 2 * 2;
      weights[i] = four_bits(scores[first], scores[first + 1], scores[first + 4], scores[first + 5]);
    }
  }

  template <class Consumer>
  static HONE_DEVICE void write(Consumer& x, const Work& work, long query) {
    const float of_values = x.scales.of_v[work.head / x.p.group];
    x.rows.add_lanes();
#pragma unroll
    for (int r = 0; r < 2; ++r, query += 8) {
      if (query >= work.sequence.queries) break;
      const float inverse = x.rows.most[r] > -INFINITY ? of_values / x.rows.total[r] : 0.0f;
      auto* const to = x.to + query_place(x.p, work.sequence, query, work.head) + threadIdx.x % 4 * 4;
#pragma unroll
      for (int e = 0; e < Problem::head / 16; ++e) store_four(to + e * 16, x.sums + 8 * e + 2 * r, inverse);
      if (threadIdx.x % 4 == 0) x.lse[lse_place(x.p, work.sequence, query, work.head)] = x.rows.lse(r, x.scale) - kRaise * 0.69314718f;
    }
  }
  /// Columns that are neighbours are sums 0, 4, 1 and 5.
  template <class T>
  static HONE_DEVICE void store_four(T* to, const float* sums, float factor) {
    store_global(to, Vector<T, 4>{T(sums[0] * factor), T(sums[4] * factor), T(sums[1] * factor), T(sums[5] * factor)});
  }

  static HONE_DEVICE hopper::u32 four_bits(float a, float b, float c, float d) {
#if defined(__CUDACC__)
    hopper::u32 bits;
    asm("{ .reg .b16 low, high; cvt.rn.satfinite.e4m3x2.f32 low, %2, %1; cvt.rn.satfinite.e4m3x2.f32 high, %4, %3; mov.b32 %0, {low, "
        "high}; }"
        : "=r"(bits)
        : "f"(a), "f"(b), "f"(c), "f"(d));
    return bits;
#else
    return e4m3(a).bits | (unsigned)e4m3(b).bits << 8 | (unsigned)e4m3(c).bits << 16 | (unsigned)e4m3(d).bits << 24;
#endif
  }
};
#endif
