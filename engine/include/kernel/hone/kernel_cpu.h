#pragma once
// CUDA's names for a kernel that the host compiler builds: how the `cpu` device runs a kernel file. It includes nothing, because every
// header costs compile time in every candidate. A CUDA thread is a fiber, a block runs on one thread of the operating system at a time,
// and whatever makes fibers wait (barriers, warp exchanges) is a call into the runtime of the device plugin (plugins/cpu).
// The runtime itself includes this file with HONE_CPU_RUNTIME defined and gets the first part alone.
//
// Where the hardware leaves a result undefined, this device makes the mistake visible: a shuffle from a lane that does not take part
// yields all bits one (a NaN), and dynamic shared memory starts as all bits one.

// ---- between a compiled kernel and the runtime -----------------------------------------------------------------------------------------
struct HoneCpuIndex {
  unsigned x, y, z;
};

enum HoneCpuWarpOperation : unsigned {
  kHoneCpuSync,
  kHoneCpuShuffle,
  kHoneCpuShuffleUp,
  kHoneCpuShuffleDown,
  kHoneCpuShuffleXor,
  kHoneCpuBallot,
  kHoneCpuMatchAny,
  kHoneCpuMatchAll,
  kHoneCpuAdd,
  kHoneCpuMinSigned,
  kHoneCpuMaxSigned,
  kHoneCpuMinUnsigned,
  kHoneCpuMaxUnsigned,
  kHoneCpuAnd,
  kHoneCpuOr,
  kHoneCpuXor,
};

/// What a kernel calls. `block` is the runtime's handle of the running block.
struct HoneCpuRuntime {
  /// Waits for every thread of the block that has not ended; returns how many of them passed a predicate other than 0.
  unsigned (*barrier)(void* block, unsigned predicate);
  /// Waits for every lane of `mask` that has not ended, then gives each its result. `operand` and `width` are those of the shuffle.
  unsigned long long (*warp)(void* block, HoneCpuWarpOperation operation, unsigned mask, unsigned long long value, unsigned operand,
                             unsigned width);
  /// Lets other threads of the block run: for loops that wait for them.
  void (*yield)(void* block);
  /// Lanes of this warp that have not ended.
  unsigned (*active_mask)(void* block);
};

/// Variables of a compiled kernel that the runtime writes: one set per thread of the operating system.
struct HoneCpuSlots {
  HoneCpuIndex *thread, *block, *block_dim, *grid_dim;
  void** handle;
  void** dynamic_shared;
};

/// `hone_cpu_bind`, exported by every compiled kernel: gives it the runtime and returns the calling thread's slots.
using HoneCpuBind = void (*)(const HoneCpuRuntime* runtime, HoneCpuSlots* slots);
/// One pass: `arguments` holds the address of each argument's value, `problem` the fields of Problem. Runs one CUDA thread.
using HoneCpuPass = void (*)(void* const* arguments, const long* problem);
/// One pass of the reference, for the indices [begin, end).
using HoneCpuReference = void (*)(long begin, long end, void* const* arguments, const long* problem);

// ---- f16 and bf16 ----------------------------------------------------------------------------------------------------------------------
// Rounded to nearest even; a NaN stays a (quiet) NaN, an overflow becomes an infinity. The instructions are named, because gcc makes
// (double)(float)half of _Float16 one slow call into libgcc.
#if defined(__F16C__)
typedef float HoneCpuFloat4 __attribute__((vector_size(16)));
typedef short HoneCpuShort8 __attribute__((vector_size(16)));
#endif

inline unsigned short hone_float_to_half(float value) {
#if defined(__F16C__)
  return static_cast<unsigned short>(__builtin_ia32_vcvtps2ph(HoneCpuFloat4{value, 0, 0, 0}, 0)[0]);
#else
  const unsigned bits = __builtin_bit_cast(unsigned, value);
  const unsigned sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return static_cast<unsigned short>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  }
  if (magnitude >= 0x477ff000u) {  // 65520 and above round to infinity
    return static_cast<unsigned short>(sign | 0x7c00u);
  }
  if (magnitude < 0x38800000u) {  // below 2^-14: adding 0.5, whose last place is 2^-24, rounds to a multiple of the smallest half
    const float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
    return static_cast<unsigned short>(sign | (__builtin_bit_cast(unsigned, shifted) - 0x3f000000u));
  }
  const unsigned rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<unsigned short>(sign | ((rounded - 0x38000000u) >> 13));
#endif
}

inline float hone_half_to_float(unsigned short half) {
#if defined(__F16C__)
  return __builtin_ia32_vcvtph2ps(HoneCpuShort8{static_cast<short>(half), 0, 0, 0, 0, 0, 0, 0})[0];
#else
  const unsigned sign = (half & 0x8000u) << 16, magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) {
    const unsigned quiet = magnitude > 0x7c00u ? 0x400000u : 0u;
    return __builtin_bit_cast(float, sign | 0x7f800000u | quiet | ((magnitude & 0x3ffu) << 13));
  }
  if (magnitude < 0x400u) {
    return __builtin_bit_cast(float, sign | __builtin_bit_cast(unsigned, static_cast<float>(magnitude) * 0x1p-24f));
  }
  return __builtin_bit_cast(float, sign | ((magnitude << 13) + 0x38000000u));
#endif
}

inline unsigned short hone_float_to_bfloat(float value) {
  const unsigned bits = __builtin_bit_cast(unsigned, value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return static_cast<unsigned short>((bits >> 16) | 0x40u);
  }
  return static_cast<unsigned short>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float hone_bfloat_to_float(unsigned short value) { return __builtin_bit_cast(float, static_cast<unsigned>(value) << 16); }

#if !defined(HONE_CPU_RUNTIME)
// ---- qualifiers ------------------------------------------------------------------------------------------------------------------------
#define __host__
#define __device__
#define __global__
#define __constant__ static
#define __shared__ static thread_local  // a block runs on one thread of the operating system at a time
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
// CUDA allows `__shared__ alignas(16) float x[4]`; the host compiler wants an attribute there.
#define alignas(...) __attribute__((aligned(__VA_ARGS__)))
#if !defined(__clang__)
#define __builtin_assume(condition) static_cast<void>(0)
#endif
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")

using size_t = decltype(sizeof(0));

// ---- built-in types --------------------------------------------------------------------------------------------------------------------
using uint3 = HoneCpuIndex;
struct dim3 : HoneCpuIndex {
  constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : HoneCpuIndex{vx, vy, vz} {}
};

#define HONE_CPU_VECTOR2(name, type, alignment)     \
  struct __attribute__((aligned(alignment))) name { \
    type x, y;                                      \
  };                                                \
  inline name make_##name(type x, type y) { return {x, y}; }
#define HONE_CPU_VECTOR3(name, type) \
  struct name {                      \
    type x, y, z;                    \
  };                                 \
  inline name make_##name(type x, type y, type z) { return {x, y, z}; }
#define HONE_CPU_VECTOR4(name, type, alignment)     \
  struct __attribute__((aligned(alignment))) name { \
    type x, y, z, w;                                \
  };                                                \
  inline name make_##name(type x, type y, type z, type w) { return {x, y, z, w}; }
HONE_CPU_VECTOR2(char2, signed char, 2)
HONE_CPU_VECTOR2(uchar2, unsigned char, 2)
HONE_CPU_VECTOR2(short2, short, 4)
HONE_CPU_VECTOR2(ushort2, unsigned short, 4)
HONE_CPU_VECTOR2(int2, int, 8)
HONE_CPU_VECTOR2(uint2, unsigned, 8)
HONE_CPU_VECTOR2(longlong2, long long, 16)
HONE_CPU_VECTOR2(ulonglong2, unsigned long long, 16)
HONE_CPU_VECTOR2(float2, float, 8)
HONE_CPU_VECTOR2(double2, double, 16)
HONE_CPU_VECTOR3(int3, int)
HONE_CPU_VECTOR3(float3, float)
HONE_CPU_VECTOR4(char4, signed char, 4)
HONE_CPU_VECTOR4(uchar4, unsigned char, 4)
HONE_CPU_VECTOR4(short4, short, 8)
HONE_CPU_VECTOR4(ushort4, unsigned short, 8)
HONE_CPU_VECTOR4(int4, int, 16)
HONE_CPU_VECTOR4(uint4, unsigned, 16)
HONE_CPU_VECTOR4(float4, float, 16)
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }

// ---- the running thread ----------------------------------------------------------------------------------------------------------------
static thread_local uint3 threadIdx;
static thread_local uint3 blockIdx;
static thread_local dim3 blockDim;
static thread_local dim3 gridDim;
static thread_local void* hone_cpu_handle;
static thread_local void* hone_cpu_shared;
static const HoneCpuRuntime* hone_cpu_runtime;
constexpr int warpSize = 32;

extern "C" __attribute__((visibility("default"))) inline __attribute__((used)) void hone_cpu_bind(const HoneCpuRuntime* runtime,
                                                                                                  HoneCpuSlots* slots) {
  __atomic_store_n(&hone_cpu_runtime, runtime, __ATOMIC_RELAXED);
  *slots = HoneCpuSlots{&threadIdx, &blockIdx, &blockDim, &gridDim, &hone_cpu_handle, &hone_cpu_shared};
}

inline void* hone_dynamic_shared() { return hone_cpu_shared; }

/// Reads an argument as whatever type the kernel's parameter has.
struct HoneCpuArgument {
  const void* address;
  template <class X>
  operator X() const {
    return *static_cast<const X*>(address);
  }
};

// ---- barriers and votes ----------------------------------------------------------------------------------------------------------------
inline void __syncthreads() { hone_cpu_runtime->barrier(hone_cpu_handle, 0); }
inline int __syncthreads_count(int predicate) { return static_cast<int>(hone_cpu_runtime->barrier(hone_cpu_handle, predicate != 0)); }
inline int __syncthreads_or(int predicate) { return hone_cpu_runtime->barrier(hone_cpu_handle, predicate != 0) != 0; }
inline int __syncthreads_and(int predicate) { return hone_cpu_runtime->barrier(hone_cpu_handle, predicate == 0) == 0; }

inline unsigned long long hone_cpu_warp(HoneCpuWarpOperation operation, unsigned mask, unsigned long long value, unsigned operand = 0,
                                        unsigned width = 32) {
  return hone_cpu_runtime->warp(hone_cpu_handle, operation, mask, value, operand, width);
}
inline void __syncwarp(unsigned mask = 0xffffffffu) { hone_cpu_warp(kHoneCpuSync, mask, 0); }
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return static_cast<unsigned>(hone_cpu_warp(kHoneCpuBallot, mask, predicate != 0));
}
inline int __any_sync(unsigned mask, int predicate) { return hone_cpu_warp(kHoneCpuBallot, mask, predicate != 0) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return hone_cpu_warp(kHoneCpuBallot, mask, predicate == 0) == 0; }
/// The lanes that have not ended. Fibers do not run in lockstep, so in divergent code write the mask yourself.
inline unsigned __activemask() { return hone_cpu_runtime->active_mask(hone_cpu_handle); }

template <class To, class From>
inline To hone_cpu_bits(From from) {
  static_assert(sizeof(From) <= sizeof(To));
  To to = 0;
  __builtin_memcpy(&to, &from, sizeof(From));
  return to;
}
template <class T>
inline T hone_cpu_from_bits(unsigned long long bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}
#define HONE_CPU_SHUFFLES(T)                                                                                                           \
  inline T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {                                                             \
    return hone_cpu_from_bits<T>(hone_cpu_warp(kHoneCpuShuffle, mask, hone_cpu_bits<unsigned long long>(value), lane, width));         \
  }                                                                                                                                    \
  inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {                                                    \
    return hone_cpu_from_bits<T>(hone_cpu_warp(kHoneCpuShuffleUp, mask, hone_cpu_bits<unsigned long long>(value), delta, width));      \
  }                                                                                                                                    \
  inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {                                                  \
    return hone_cpu_from_bits<T>(hone_cpu_warp(kHoneCpuShuffleDown, mask, hone_cpu_bits<unsigned long long>(value), delta, width));    \
  }                                                                                                                                    \
  inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {                                                    \
    return hone_cpu_from_bits<T>(hone_cpu_warp(kHoneCpuShuffleXor, mask, hone_cpu_bits<unsigned long long>(value), lane_mask, width)); \
  }                                                                                                                                    \
  inline unsigned __match_any_sync(unsigned mask, T value) {                                                                           \
    return static_cast<unsigned>(hone_cpu_warp(kHoneCpuMatchAny, mask, hone_cpu_bits<unsigned long long>(value)));                     \
  }                                                                                                                                    \
  inline unsigned __match_all_sync(unsigned mask, T value, int* all) {                                                                 \
    *all = hone_cpu_warp(kHoneCpuMatchAll, mask, hone_cpu_bits<unsigned long long>(value)) != 0;                                       \
    return *all ? mask : 0;                                                                                                            \
  }
HONE_CPU_SHUFFLES(int)
HONE_CPU_SHUFFLES(unsigned)
HONE_CPU_SHUFFLES(long)
HONE_CPU_SHUFFLES(unsigned long)
HONE_CPU_SHUFFLES(long long)
HONE_CPU_SHUFFLES(unsigned long long)
HONE_CPU_SHUFFLES(float)
HONE_CPU_SHUFFLES(double)

#define HONE_CPU_REDUCE(name, T, operation)                                              \
  inline T __reduce_##name##_sync(unsigned mask, T value) {                              \
    return static_cast<T>(hone_cpu_warp(operation, mask, static_cast<unsigned>(value))); \
  }
HONE_CPU_REDUCE(add, unsigned, kHoneCpuAdd)
HONE_CPU_REDUCE(add, int, kHoneCpuAdd)
HONE_CPU_REDUCE(min, unsigned, kHoneCpuMinUnsigned)
HONE_CPU_REDUCE(min, int, kHoneCpuMinSigned)
HONE_CPU_REDUCE(max, unsigned, kHoneCpuMaxUnsigned)
HONE_CPU_REDUCE(max, int, kHoneCpuMaxSigned)
HONE_CPU_REDUCE(and, unsigned, kHoneCpuAnd)
HONE_CPU_REDUCE(or, unsigned, kHoneCpuOr)
HONE_CPU_REDUCE(xor, unsigned, kHoneCpuXor)

inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __nanosleep(unsigned) { hone_cpu_runtime->yield(hone_cpu_handle); }
inline void __trap() { __builtin_trap(); }
#if defined(__x86_64__)
inline long long clock64() { return static_cast<long long>(__builtin_ia32_rdtsc()); }
inline int clock() { return static_cast<int>(clock64()); }
#endif

// ---- atomics ---------------------------------------------------------------------------------------------------------------------------
#define HONE_CPU_ATOMICS(T)                                                                                            \
  inline T atomicExch(T* at, T value) { return __atomic_exchange_n(at, value, __ATOMIC_RELAXED); }                     \
  inline T atomicAdd(T* at, T value) { return __atomic_fetch_add(at, value, __ATOMIC_RELAXED); }                       \
  inline T atomicAnd(T* at, T value) { return __atomic_fetch_and(at, value, __ATOMIC_RELAXED); }                       \
  inline T atomicOr(T* at, T value) { return __atomic_fetch_or(at, value, __ATOMIC_RELAXED); }                         \
  inline T atomicXor(T* at, T value) { return __atomic_fetch_xor(at, value, __ATOMIC_RELAXED); }                       \
  inline T atomicCAS(T* at, T expected, T desired) {                                                                   \
    if (!__atomic_compare_exchange_n(at, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {             \
      hone_cpu_runtime->yield(hone_cpu_handle); /* a lock's holder may be a fiber of this block */                     \
    }                                                                                                                  \
    return expected;                                                                                                   \
  }                                                                                                                    \
  inline T atomicMax(T* at, T value) {                                                                                 \
    T seen = __atomic_load_n(at, __ATOMIC_RELAXED);                                                                    \
    while (seen < value && !__atomic_compare_exchange_n(at, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) { \
    }                                                                                                                  \
    return seen;                                                                                                       \
  }                                                                                                                    \
  inline T atomicMin(T* at, T value) {                                                                                 \
    T seen = __atomic_load_n(at, __ATOMIC_RELAXED);                                                                    \
    while (value < seen && !__atomic_compare_exchange_n(at, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) { \
    }                                                                                                                  \
    return seen;                                                                                                       \
  }
HONE_CPU_ATOMICS(int)
HONE_CPU_ATOMICS(unsigned)
HONE_CPU_ATOMICS(long long)
HONE_CPU_ATOMICS(unsigned long long)
inline int atomicSub(int* at, int value) { return __atomic_fetch_sub(at, value, __ATOMIC_RELAXED); }
inline unsigned atomicSub(unsigned* at, unsigned value) { return __atomic_fetch_sub(at, value, __ATOMIC_RELAXED); }
inline unsigned atomicInc(unsigned* at, unsigned limit) {
  unsigned seen = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(at, &seen, seen >= limit ? 0u : seen + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return seen;
}
inline unsigned atomicDec(unsigned* at, unsigned limit) {
  unsigned seen = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(at, &seen, seen == 0 || seen > limit ? limit : seen - 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return seen;
}
#define HONE_CPU_ATOMIC_REAL(T)                                                                      \
  inline T atomicAdd(T* at, T value) {                                                               \
    T seen, sum;                                                                                     \
    __atomic_load(at, &seen, __ATOMIC_RELAXED);                                                      \
    do {                                                                                             \
      sum = seen + value;                                                                            \
    } while (!__atomic_compare_exchange(at, &seen, &sum, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)); \
    return seen;                                                                                     \
  }
HONE_CPU_ATOMIC_REAL(float)
HONE_CPU_ATOMIC_REAL(double)
inline float atomicExch(float* at, float value) {
  float seen;
  __atomic_exchange(at, &value, &seen, __ATOMIC_RELAXED);
  return seen;
}

// ---- loads, stores and bits ------------------------------------------------------------------------------------------------------------
template <class T>
inline T __ldg(const T* from) {
  return *from;
}
template <class T>
inline T __ldca(const T* from) {
  return *from;
}
template <class T>
inline T __ldcg(const T* from) {
  return *from;
}
template <class T>
inline T __ldcs(const T* from) {
  return *from;
}
template <class T>
inline T __ldlu(const T* from) {
  return *from;
}
template <class T>
inline T __ldcv(const T* from) {
  return *static_cast<const volatile T*>(from);
}
template <class T>
inline void __stwb(T* to, T value) {
  *to = value;
}
template <class T>
inline void __stcg(T* to, T value) {
  *to = value;
}
template <class T>
inline void __stcs(T* to, T value) {
  *to = value;
}
template <class T>
inline void __stwt(T* to, T value) {
  *to = value;
}

inline float __int_as_float(int bits) { return __builtin_bit_cast(float, bits); }
inline float __uint_as_float(unsigned bits) { return __builtin_bit_cast(float, bits); }
inline int __float_as_int(float value) { return __builtin_bit_cast(int, value); }
inline unsigned __float_as_uint(float value) { return __builtin_bit_cast(unsigned, value); }
inline double __longlong_as_double(long long bits) { return __builtin_bit_cast(double, bits); }
inline long long __double_as_longlong(double value) { return __builtin_bit_cast(long long, value); }
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __popcll(unsigned long long bits) { return __builtin_popcountll(bits); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline int __ffsll(long long bits) { return __builtin_ffsll(bits); }
inline int __clz(int bits) { return bits == 0 ? 32 : __builtin_clz(static_cast<unsigned>(bits)); }
inline int __clzll(long long bits) { return bits == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(bits)); }
inline unsigned __brev(unsigned bits) {
  unsigned reversed = 0;
  for (int i = 0; i < 32; ++i) {
    reversed |= ((bits >> i) & 1u) << (31 - i);
  }
  return reversed;
}
inline int __mulhi(int a, int b) { return static_cast<int>((static_cast<long long>(a) * b) >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32); }

inline long long __mul64hi(long long a, long long b) { return static_cast<long long>((static_cast<__int128>(a) * b) >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
inline int __mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
inline unsigned __sad(int a, int b, unsigned c) { return (a < b ? b - a : a - b) + c; }
inline unsigned long long __brevll(unsigned long long bits) {
  return (static_cast<unsigned long long>(__brev(static_cast<unsigned>(bits))) << 32) | __brev(static_cast<unsigned>(bits >> 32));
}
inline unsigned hone_cpu_high(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((((static_cast<unsigned long long>(high) << 32) | low) << shift) >> 32);
}
inline unsigned hone_cpu_low(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(((static_cast<unsigned long long>(high) << 32) | low) >> shift);
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) { return hone_cpu_high(low, high, shift & 31u); }
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) { return hone_cpu_low(low, high, shift & 31u); }
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) { return shift >= 32u ? low : hone_cpu_high(low, high, shift); }
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) { return shift >= 32u ? high : hone_cpu_low(low, high, shift); }
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long bytes = (static_cast<unsigned long long>(y) << 32) | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned which = (selector >> (4 * i)) & 15u;
    unsigned byte = static_cast<unsigned>(bytes >> (8 * (which & 7u))) & 255u;
    byte = (which & 8u) != 0u ? ((byte & 128u) != 0u ? 255u : 0u) : byte;  // the sign of it, eight times
    result |= byte << (8 * i);
  }
  return result;
}
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i) {
    c += static_cast<signed char>(a >> (8 * i)) * static_cast<signed char>(b >> (8 * i));
  }
  return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; ++i) {
    c += ((a >> (8 * i)) & 255u) * ((b >> (8 * i)) & 255u);
  }
  return c;
}
inline unsigned __vadd4(unsigned a, unsigned b) { return ((a & 0x7f7f7f7fu) + (b & 0x7f7f7f7fu)) ^ ((a ^ b) & 0x80808080u); }

// ---- mathematics -----------------------------------------------------------------------------------------------------------------------
// name(double) and namef(float) are the C library's; CUDA overloads name for float as well.
#define HONE_CPU_MATH1(name)                \
  extern "C" double name(double) noexcept;  \
  extern "C" float name##f(float) noexcept; \
  inline float name(float x) { return __builtin_##name##f(x); }
#define HONE_CPU_MATH2(name)                       \
  extern "C" double name(double, double) noexcept; \
  extern "C" float name##f(float, float) noexcept; \
  inline float name(float x, float y) { return __builtin_##name##f(x, y); }
HONE_CPU_MATH1(exp)
HONE_CPU_MATH1(exp2)
HONE_CPU_MATH1(expm1)
HONE_CPU_MATH1(log)
HONE_CPU_MATH1(log2)
HONE_CPU_MATH1(log10)
HONE_CPU_MATH1(log1p)
HONE_CPU_MATH1(sqrt)
HONE_CPU_MATH1(cbrt)
HONE_CPU_MATH1(sin)
HONE_CPU_MATH1(cos)
HONE_CPU_MATH1(tan)
HONE_CPU_MATH1(asin)
HONE_CPU_MATH1(acos)
HONE_CPU_MATH1(atan)
HONE_CPU_MATH1(sinh)
HONE_CPU_MATH1(cosh)
HONE_CPU_MATH1(tanh)
HONE_CPU_MATH1(erf)
HONE_CPU_MATH1(erfc)
HONE_CPU_MATH1(floor)
HONE_CPU_MATH1(ceil)
HONE_CPU_MATH1(trunc)
HONE_CPU_MATH1(round)
HONE_CPU_MATH1(rint)
HONE_CPU_MATH1(fabs)
HONE_CPU_MATH1(acosh)
HONE_CPU_MATH1(asinh)
HONE_CPU_MATH1(atanh)
HONE_CPU_MATH1(lgamma)
HONE_CPU_MATH1(tgamma)
HONE_CPU_MATH1(nearbyint)
HONE_CPU_MATH2(fdim)
HONE_CPU_MATH2(remainder)
HONE_CPU_MATH2(fmin)
HONE_CPU_MATH2(fmax)
HONE_CPU_MATH2(pow)
HONE_CPU_MATH2(fmod)
HONE_CPU_MATH2(atan2)
HONE_CPU_MATH2(hypot)
HONE_CPU_MATH2(copysign)
extern "C" double fma(double, double, double) noexcept;
extern "C" float fmaf(float, float, float) noexcept;
extern "C" int abs(int) noexcept;
extern "C" long labs(long) noexcept;
extern "C" int printf(const char*, ...);
extern "C" void* memcpy(void*, const void*, size_t) noexcept;
extern "C" void* memset(void*, int, size_t) noexcept;
#define assert(condition) static_cast<void>((condition) ? 0 : (__builtin_trap(), 0))
inline float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline long abs(long x) { return x < 0 ? -x : x; }
inline long long abs(long long x) { return x < 0 ? -x : x; }
inline float abs(float x) { return __builtin_fabsf(x); }
inline double abs(double x) { return __builtin_fabs(x); }
inline float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline double exp10(double x) { return __builtin_pow(10.0, x); }
inline float ldexpf(float x, int e) { return __builtin_ldexpf(x, e); }
inline double ldexp(double x, int e) { return __builtin_ldexp(x, e); }
inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
inline float sinpif(float x) { return sinf(3.14159265358979323846f * x); }
inline float cospif(float x) { return cosf(3.14159265358979323846f * x); }
inline float fdividef(float x, float y) { return x / y; }
inline float normcdff(float x) { return 0.5f * erfcf(-0.70710678118654752440f * x); }
inline double normcdf(double x) { return 0.5 * erfc(-0.70710678118654752440 * x); }
inline bool signbit(float x) { return __builtin_signbit(x) != 0; }
inline bool signbit(double x) { return __builtin_signbit(x) != 0; }
inline void sincosf(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }
inline void sincos(double x, double* s, double* c) { *s = sin(x), *c = cos(x); }
inline void __sincosf(float x, float* s, float* c) { sincosf(x, s, c); }
inline float __exp2f(float x) { return exp2f(x); }
inline double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline float __double2float_rn(double x) { return static_cast<float>(x); }
inline float exp10f(float x) { return __builtin_powf(10.0f, x); }
inline bool isnan(float x) { return __builtin_isnan(x); }
inline bool isnan(double x) { return __builtin_isnan(x); }
inline bool isinf(float x) { return __builtin_isinf(x); }
inline bool isinf(double x) { return __builtin_isinf(x); }
inline bool isfinite(float x) { return __builtin_isfinite(x); }
inline bool isfinite(double x) { return __builtin_isfinite(x); }

#define HONE_CPU_MIN_MAX(T)                                  \
  inline constexpr T min(T a, T b) { return b < a ? b : a; } \
  inline constexpr T max(T a, T b) { return a < b ? b : a; }
HONE_CPU_MIN_MAX(int)
HONE_CPU_MIN_MAX(unsigned)
HONE_CPU_MIN_MAX(long)
HONE_CPU_MIN_MAX(unsigned long)
HONE_CPU_MIN_MAX(long long)
HONE_CPU_MIN_MAX(unsigned long long)
// As in CUDA, those of reals are fmin and fmax: a NaN loses.
inline float min(float a, float b) { return __builtin_fminf(a, b); }
inline float max(float a, float b) { return __builtin_fmaxf(a, b); }
inline double min(double a, double b) { return __builtin_fmin(a, b); }
inline double max(double a, double b) { return __builtin_fmax(a, b); }

inline float __expf(float x) { return __builtin_expf(x); }
inline float __exp10f(float x) { return exp10f(x); }
inline float __logf(float x) { return __builtin_logf(x); }
inline float __log2f(float x) { return __builtin_log2f(x); }
inline float __log10f(float x) { return __builtin_log10f(x); }
inline float __sinf(float x) { return __builtin_sinf(x); }
inline float __cosf(float x) { return __builtin_cosf(x); }
inline float __tanf(float x) { return __builtin_tanf(x); }
inline float __powf(float x, float y) { return __builtin_powf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return x >= 1.0f ? 1.0f : x > 0.0f ? x : 0.0f; }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
inline float __frsqrt_rn(float x) { return 1.0f / __builtin_sqrtf(x); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline int __float2int_rn(float x) { return static_cast<int>(__builtin_rintf(x)); }
inline unsigned __float2uint_rn(float x) { return static_cast<unsigned>(__builtin_rintf(x)); }
inline int __float2int_rd(float x) { return static_cast<int>(__builtin_floorf(x)); }
inline int __float2int_ru(float x) { return static_cast<int>(__builtin_ceilf(x)); }
inline int __float2int_rz(float x) { return static_cast<int>(x); }
#endif  // !HONE_CPU_RUNTIME
