#pragma once
// 8-bit element types: the floats e4m3 and e5m2, and packed 4-bit integers. It includes nothing; include it after
// <hone/kernel.h>. The runtime of the cpu device includes it with HONE_CPU_RUNTIME defined and gets only the conversions.

#if defined(HONE_CPU_RUNTIME)
#define HONE_DEVICE inline
#endif

// ---- by software: what the hardware's conversions do since compute capability 8.9, for the cpu device and GPUs before that ------------------
#if !defined(HONE_READ)
/// Rounded to nearest even; values beyond the range, including infinities, become the largest number; NaN stays NaN. `mantissa` is its number
/// of bits; 2^least is the smallest normal number.
template <int mantissa, int least> HONE_DEVICE unsigned char hone_float_to_fp8(float value, float largest) {
  constexpr int kDrop = 23 - mantissa;
  const unsigned all = __builtin_bit_cast(unsigned, value), sign = all >> 24 & 0x80u;
  if ((all & 0x7fffffffu) > 0x7f800000u) return 0x7f;
  const float wide = __builtin_bit_cast(float, all & 0x7fffffffu), magnitude = wide < largest ? wide : largest;
  const unsigned bits = __builtin_bit_cast(unsigned, magnitude);
  if (bits < unsigned(127 + least) << 23) {  // subnormal: beside this number, whose last place is one step, the sum is a whole number of them
    const unsigned one = unsigned(127 + least + kDrop) << 23;
    return (unsigned char)(sign | (__builtin_bit_cast(unsigned, magnitude + __builtin_bit_cast(float, one)) - one));
  }
  const unsigned rounded = bits + (1u << (kDrop - 1)) - 1u + (bits >> kDrop & 1u);
  return (unsigned char)(sign | ((rounded >> kDrop) - (unsigned(126 + least) << mantissa)));
}

template <int mantissa, int least> HONE_DEVICE float hone_fp8_to_float(unsigned char bits) {
  const unsigned magnitude = bits & 0x7fu, sign = (bits & 0x80u) << 24;
  if (magnitude == 0x7f || (mantissa == 2 && magnitude > 0x7c)) return __builtin_bit_cast(float, 0x7fffffffu);
  if (mantissa == 2 && magnitude == 0x7c) return __builtin_bit_cast(float, sign | 0x7f800000u);
  const unsigned step = unsigned(127 + least - mantissa) << 23;  // of a subnormal number
  const float value = magnitude < 1u << mantissa ? (float)(int)magnitude * __builtin_bit_cast(float, step)
                                                 : __builtin_bit_cast(float, (magnitude << (23 - mantissa)) + (unsigned(126 + least) << 23));
  return __builtin_bit_cast(float, __builtin_bit_cast(unsigned, value) | sign);
}
#endif

#if !defined(HONE_CPU_RUNTIME)
// ---- the types -----------------------------------------------------------------------------------------------------------------------------
/// 8-bit floats: storage types with conversions from and to float. e4m3 has 3 mantissa bits, a maximum of 448 and no infinity; e5m2 has 2, and a
/// maximum of 57344. Larger values become the largest number, as with CUDA's own types by default. Layout-compatible with __nv_fp8_e4m3 and __nv_fp8_e5m2.
#if defined(HONE_READ)
#define HONE_FP8(name, mantissa, least, most) \
  struct name {                                  \
    static constexpr float largest = most;       \
    unsigned char bits;                          \
    name() = default;                            \
    name(float);                                 \
    operator float() const;                      \
  };
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
#define HONE_FP8(name, mantissa, least, most)                                                         \
  struct name {                                                                                          \
    static constexpr float largest = most;                                                               \
    unsigned char bits;                                                                                  \
    name() = default;                                                                                    \
    HONE_DEVICE name(float x) {                                                                          \
      unsigned short pair;                                                                               \
      asm("cvt.rn.satfinite." #name "x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));              \
      bits = (unsigned char)pair;                                                                        \
    }                                                                                                    \
    HONE_DEVICE operator float() const {                                                                 \
      float x;                                                                                           \
      asm("{ .reg .b32 p; .reg .b16 l, h; cvt.rn.f16x2." #name "x2 p, %1; mov.b32 {l, h}, p; cvt.f32.f16 %0, l; }" \
          : "=f"(x)                                                                                      \
          : "h"((unsigned short)bits));                                                                  \
      return x;                                                                                          \
    }                                                                                                    \
  };
#else
#define HONE_FP8(name, mantissa, least, most)                                                   \
  struct name {                                                                                    \
    static constexpr float largest = most;                                                         \
    unsigned char bits;                                                                            \
    name() = default;                                                                              \
    HONE_DEVICE name(float x) : bits(hone_float_to_fp8<mantissa, least>(x, most)) {}               \
    HONE_DEVICE operator float() const { return hone_fp8_to_float<mantissa, least>(bits); }        \
  };
#endif
HONE_FP8(e4m3, 3, -6, 448.0f)
HONE_FP8(e5m2, 2, -14, 57344.0f)
#undef HONE_FP8

/// Two 4-bit integers in a byte, `low` in its lower bits. i4x2 has -8 to 7, u4x2 has 0 to 15; more bits than that are dropped.
struct i4x2 {
  unsigned char bits;
  i4x2() = default;
  HONE_DEVICE i4x2(int low, int high) : bits((unsigned char)((low & 15) | (high & 15) << 4)) {}
  HONE_DEVICE int low() const { return (int)(bits << 28) >> 28; }
  HONE_DEVICE int high() const { return (int)(bits << 24) >> 28; }
};
struct u4x2 {
  unsigned char bits;
  u4x2() = default;
  HONE_DEVICE u4x2(int low, int high) : bits((unsigned char)((low & 15) | (high & 15) << 4)) {}
  HONE_DEVICE int low() const { return bits & 15; }
  HONE_DEVICE int high() const { return bits >> 4; }
};
#else
#undef HONE_DEVICE
#endif  // !HONE_CPU_RUNTIME
