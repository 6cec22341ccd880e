#pragma once
// Two rows of attention in the registers of four lanes, as products on tensor cores leave them: lane l has rows l / 4 and 8 below, and of
// each block of 8 columns l % 4 * 2 and the next. Elements 4i and 4i + 1 are of the first row, 4i + 2 and 4i + 3 of the second.
#include "approximate.h"
#include "packet.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
/// 2^x to 1e-4 of it, without the special-function unit, which computes 16 in a cycle where 128 multiply-adds run; 2^-126 where it would
/// be less. A minimax polynomial of the fraction; the integer part is added to its exponent.
HONE_DEVICE float power_by_fma(float x) {
  constexpr float kShift = 12582912.0f;  // 1.5 * 2^23: a number plus this one has its integer part in the lowest bits
  x = fmaxf(x, -126.0f);
  const float shifted = x + kShift, f = x - (shifted - kShift);  // f in [-1/2, 1/2]
  float power = fmaf(f, 0.055171669f, 0.24261110f);
  power = fmaf(f, power, 0.69326099f);
  power = fmaf(f, power, 0.99992807f);
  return __int_as_float(__float_as_int(power) + (__float_as_int(shifted) << 23));
}

/// What scores are multiplied by for powers of two: above 0, so that hidden scores stay the lowest.
HONE_DEVICE float power_scale(float scale) { return fmaxf(fabsf(scale) * 1.44269504f, 1e-30f); }
HONE_DEVICE float sign_of(float scale) { return scale < 0.0f ? -1.0f : 1.0f; }

struct TwoRows {
  float most[2] = {-INFINITY, -INFINITY}, total[2] = {};  // the largest score; the sum of weights, this lane's share

  /// Multiplies scores by `sign`, and hides those of each row before key `left` and from key `right` on; `key` is the block's first one.
  template <int n>
  static HONE_DEVICE void hide(float (&scores)[n], float sign, const long (&left)[2], const long (&right)[2], long key) {
    const long column = key + threadIdx.x % 4 * 2;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int end = (int)(right[r] - column), begin = (int)(left[r] - column);
#pragma unroll
      for (int i = 0; i < n / 2; ++i) scores[element(i, r)] = i / 2 * 8 + i % 2 < end ? scores[element(i, r)] * sign : -INFINITY;
      if (left[r] == 0) continue;
#pragma unroll
      for (int i = 0; i < n / 2; ++i) scores[element(i, r)] = i / 2 * 8 + i % 2 >= begin ? scores[element(i, r)] : -INFINITY;
    }
  }
  /// Element i of row r.
  static HONE_DEVICE constexpr int element(int i, int r) { return i / 2 * 4 + 2 * r + i % 2; }

  /// Replaces scores by weights, 2^(scale * (score - most)), with `scale` above 0: where it is not, scores change their sign (hide).
  /// `factor` is what is to be multiplied to sums of earlier weights: `most` stays as long as weights are not above 2^lazy, and follows the
  /// largest score where `lazy` is below 0. Of eight powers, `by_fma` are computed by multiply-adds. Weights, and so totals, are 2^raise
  /// times as large. `by_integers`: see row_maxima.
  template <int lazy, int by_fma, int raise = 0, bool by_integers = false, int n>
  HONE_DEVICE void weigh(float (&scores)[n], float scale, float (&factor)[2]) {
    float offset[2], tops[2];
    row_maxima<by_integers>(tops, scores);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float top = tops[r];
      const bool kept = lazy >= 0 && (top - most[r]) * scale <= (float)lazy;
      if (kept) top = most[r];
      offset[r] = top == -INFINITY ? 0.0f : top * scale;                    // no key seen yet: the differences would not be numbers
      factor[r] = kept ? 1.0f : power_of_two(most[r] * scale - offset[r]);  // the difference of equal products is not 0: one is not rounded
      if constexpr (raise > 0) offset[r] -= raise;
      most[r] = top;
      total[r] *= factor[r];
    }
#pragma unroll
    for (int i = 0; i < n; ++i) {
      const int r = i / 2 % 2;
      const float x = scores[i] * scale - offset[r];
      scores[i] = i / 4 * 2 % 8 + i % 2 < by_fma ? power_by_fma(x) : power_of_two(x);
      total[r] += scores[i];
    }
  }

  /// The largest score of each row, those of earlier blocks among them. Hopper has an instruction for the largest of three integers and
  /// none for three floats: bits of floats are in the same order, but for those of two negative ones (-0 is one). Where the largest before
  /// is not negative, that does not matter. It pays where instructions are the limit: by warps alone (mma) it costs 1 %.
  template <bool by_integers, int n>
  HONE_DEVICE void row_maxima(float (&top)[2], const float (&scores)[n]) const {
    top[0] = most[0], top[1] = most[1];
    if (!by_integers || __any_sync(0xffffffffu, (__float_as_int(most[0]) | __float_as_int(most[1])) < 0)) {
#pragma unroll
      for (int i = 0; i < n / 2; ++i) top[i % 2] = fmaxf(top[i % 2], fmaxf(scores[2 * i], scores[2 * i + 1]));
    } else {
#pragma unroll
      for (int i = 0; i < n / 2; ++i) top[i % 2] = max3(top[i % 2], scores[2 * i], scores[2 * i + 1]);
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      top[r] = fmaxf(top[r], __shfl_xor_sync(0xffffffffu, top[r], 1));
      top[r] = fmaxf(top[r], __shfl_xor_sync(0xffffffffu, top[r], 2));
    }
  }
  /// The largest of three numbers, of which `top` is not negative. As one piece of assembly: where the compiler saw that scores are taken
  /// for integers, ptxas serialized all products.
  static HONE_DEVICE float max3(float top, float a, float b) {
#if defined(__CUDACC__)
    asm("{ .reg .b32 x, y, z; mov.b32 x, %0; mov.b32 y, %1; mov.b32 z, %2; max.s32 y, y, z; max.s32 x, x, y; mov.b32 %0, x; }"
        : "+f"(top)
        : "f"(a), "f"(b));
    return top;
#else
    return fmaxf(top, fmaxf(a, b));
#endif
  }

  /// With `lazy` of 0 or more, not where it would change nothing in a warp.
  template <int lazy, int n>
  static HONE_DEVICE void rescale(float (&sums)[n], const float (&factor)[2]) {
    if (lazy >= 0 && !__any_sync(0xffffffffu, factor[0] != 1.0f || factor[1] != 1.0f)) return;
#pragma unroll
    for (int i = 0; i < n; ++i) sums[i] *= factor[i / 2 % 2];
  }

  /// Weights in T, as the left operand of the next product.
  template <class T, int n>
  static HONE_DEVICE void round(unsigned (&weights)[n / 2], const float (&scores)[n]) {
#pragma unroll
    for (int i = 0; i < n / 2; ++i) weights[i] = pair_bits<T>(scores[2 * i], scores[2 * i + 1]);
  }

  /// Adds up the shares of the four lanes.
  HONE_DEVICE void add_lanes() {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      total[r] += __shfl_xor_sync(0xffffffffu, total[r], 1);
      total[r] += __shfl_xor_sync(0xffffffffu, total[r], 2);
    }
  }
  /// The logarithm of the sum of exponentials of a row, after add_lanes.
  HONE_DEVICE float lse(int r, float scale) const { return (most[r] * scale + __log2f(total[r])) * 0.69314718f; }

  /// Divides the sums of row r by its total and writes them to `to`, 16 bytes at a time. All lanes of a warp call it.
  template <class T, int n>
  HONE_DEVICE void write(const float (&sums)[n], int r, T* to, bool exists) const {
    const float inverse = most[r] > -INFINITY ? 1.0f / total[r] : 0.0f;  // a query may see no key, and power_by_fma is never 0
#pragma unroll
    for (int i = 0; i < n / 4; i += 4) {
      unsigned words[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) words[e] = pair_bits<T>(sums[4 * (i + e) + 2 * r] * inverse, sums[4 * (i + e) + 2 * r + 1] * inverse);
      transpose_quad(words);
      if (exists) {
        store_global(reinterpret_cast<unsigned*>(to + i * 8 + threadIdx.x % 4 * 8),
                     Vector<unsigned, 4>{words[0], words[1], words[2], words[3]});
      }
    }
  }

  /// Four lanes exchange words: lane l gets word l of each, so that it has 8 adjacent columns instead of 2 in each of four places.
  static HONE_DEVICE void transpose_quad(unsigned (&words)[4]) {
    const bool odd = threadIdx.x & 1, upper = threadIdx.x & 2;
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      const unsigned got = __shfl_xor_sync(0xffffffffu, odd ? words[i] : words[i + 1], 1);
      words[i] = odd ? got : words[i];
      words[i + 1] = odd ? words[i + 1] : got;
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const unsigned got = __shfl_xor_sync(0xffffffffu, upper ? words[i] : words[i + 2], 2);
      words[i] = upper ? got : words[i];
      words[i + 2] = upper ? words[i + 2] : got;
    }
  }
};
#endif
