#pragma once
// CUDA's names for libclang, so that kernel bodies parse as plain C++20 on a machine without CUDA. Nothing here runs: functions are declared,
// not defined. A name that is missing here is no error of the kernel (names that begin with "__" are left to the device compiler).

#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __grid_constant__
#define __noinline__
#define __forceinline__ inline
#define __inline__ inline
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define CUDART_INF_F __builtin_huge_valf()
#define CUDART_INF __builtin_huge_val()
#define CUDART_NAN_F __builtin_nanf("")
#define INFINITY __builtin_huge_valf()
#define HUGE_VAL __builtin_huge_val()
#define NAN __builtin_nanf("")
#define FLT_MAX __FLT_MAX__
#define FLT_MIN __FLT_MIN__
#define FLT_EPSILON __FLT_EPSILON__
#define DBL_MAX __DBL_MAX__
#define DBL_EPSILON __DBL_EPSILON__
#define INT_MAX __INT_MAX__
#define INT_MIN (-__INT_MAX__ - 1)
#define UINT_MAX (__INT_MAX__ * 2U + 1U)
#define LONG_MAX __LONG_MAX__
#define CHAR_BIT 8
#define M_PI 3.14159265358979323846
#define NULL __null
#define assert(condition) ((void)0)
#define offsetof(type, member) __builtin_offsetof(type, member)

using size_t = decltype(sizeof 0);
using ptrdiff_t = decltype((char*)0 - (char*)0);
using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long;
using intptr_t = long;
using uintptr_t = unsigned long;
using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;

// ---- vector types
#define HONE_VECTOR_TYPE(T, name)                 \
  struct name##1 { T x; };                        \
  struct name##2 { T x, y; };                     \
  struct name##3 { T x, y, z; };                  \
  struct name##4 { T x, y, z, w; };               \
  name##1 make_##name##1(T x);                    \
  name##2 make_##name##2(T x, T y);               \
  name##3 make_##name##3(T x, T y, T z);          \
  name##4 make_##name##4(T x, T y, T z, T w);
HONE_VECTOR_TYPE(signed char, char)
HONE_VECTOR_TYPE(unsigned char, uchar)
HONE_VECTOR_TYPE(short, short)
HONE_VECTOR_TYPE(unsigned short, ushort)
HONE_VECTOR_TYPE(int, int)
HONE_VECTOR_TYPE(unsigned int, uint)
HONE_VECTOR_TYPE(long, long)
HONE_VECTOR_TYPE(unsigned long, ulong)
HONE_VECTOR_TYPE(long long, longlong)
HONE_VECTOR_TYPE(unsigned long long, ulonglong)
HONE_VECTOR_TYPE(float, float)
HONE_VECTOR_TYPE(double, double)
#undef HONE_VECTOR_TYPE

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
extern const uint3 threadIdx, blockIdx;
extern const dim3 blockDim, gridDim;
extern const int warpSize;

// ---- synchronisation
void __syncthreads();
int __syncthreads_count(int);
int __syncthreads_and(int);
int __syncthreads_or(int);
void __syncwarp(unsigned mask = 0xffffffffu);
void __threadfence();
void __threadfence_block();
void __threadfence_system();
void __nanosleep(unsigned);
void __trap();
void __brkpt();
int printf(const char*, ...);
long long clock64();
int clock();
unsigned __activemask();
int __all_sync(unsigned, int);
int __any_sync(unsigned, int);
unsigned __ballot_sync(unsigned, int);
template <class V> unsigned __match_any_sync(unsigned, V);
template <class V> unsigned __match_all_sync(unsigned, V, int*);
template <class V> V __shfl_sync(unsigned, V, int, int = 32);
template <class V> V __shfl_xor_sync(unsigned, V, int, int = 32);
template <class V> V __shfl_up_sync(unsigned, V, unsigned, int = 32);
template <class V> V __shfl_down_sync(unsigned, V, unsigned, int = 32);
template <class V> V __reduce_add_sync(unsigned, V);
template <class V> V __reduce_min_sync(unsigned, V);
template <class V> V __reduce_max_sync(unsigned, V);
unsigned __reduce_and_sync(unsigned, unsigned);
unsigned __reduce_or_sync(unsigned, unsigned);
unsigned __reduce_xor_sync(unsigned, unsigned);

// ---- atomics. The value's type is not deduced, as with CUDA's overloads: atomicAdd(float*, 1) is fine.
template <class V> struct hone_same { using type = V; };
#define HONE_ATOMIC(name)                                                      \
  template <class V> V name(V*, typename hone_same<V>::type);                  \
  template <class V> V name##_block(V*, typename hone_same<V>::type);          \
  template <class V> V name##_system(V*, typename hone_same<V>::type);
HONE_ATOMIC(atomicAdd)
HONE_ATOMIC(atomicSub)
HONE_ATOMIC(atomicExch)
HONE_ATOMIC(atomicMin)
HONE_ATOMIC(atomicMax)
HONE_ATOMIC(atomicInc)
HONE_ATOMIC(atomicDec)
HONE_ATOMIC(atomicAnd)
HONE_ATOMIC(atomicOr)
HONE_ATOMIC(atomicXor)
#undef HONE_ATOMIC
template <class V> V atomicCAS(V*, typename hone_same<V>::type, typename hone_same<V>::type);

// ---- memory
#define HONE_LOAD(name) template <class V> V name(const V*);
HONE_LOAD(__ldg)
HONE_LOAD(__ldcg)
HONE_LOAD(__ldca)
HONE_LOAD(__ldcs)
HONE_LOAD(__ldlu)
HONE_LOAD(__ldcv)
#undef HONE_LOAD
#define HONE_STORE(name) template <class V> void name(V*, typename hone_same<V>::type);
HONE_STORE(__stwb)
HONE_STORE(__stcg)
HONE_STORE(__stcs)
HONE_STORE(__stwt)
#undef HONE_STORE
size_t __cvta_generic_to_shared(const void*);
size_t __cvta_generic_to_global(const void*);
void* __cvta_shared_to_generic(size_t);
unsigned __isShared(const void*);
unsigned __isGlobal(const void*);
extern "C" void* memcpy(void*, const void*, size_t);
extern "C" void* memset(void*, int, size_t);
void* hone_dynamic_shared();
void __pipeline_memcpy_async(void*, const void*, size_t, size_t = 0);
void __pipeline_commit();
void __pipeline_wait_prior(size_t);

// ---- bits and conversions
int __float_as_int(float);
unsigned __float_as_uint(float);
float __int_as_float(int);
float __uint_as_float(unsigned);
long long __double_as_longlong(double);
double __longlong_as_double(long long);
int __double2hiint(double);
int __double2loint(double);
double __hiloint2double(int, int);
float __double2float_rn(double);
int __float2int_rn(float);
int __float2int_rz(float);
int __float2int_rd(float);
int __float2int_ru(float);
unsigned __float2uint_rn(float);
float __int2float_rn(int);
float __uint2float_rn(unsigned);
int __popc(unsigned);
int __popcll(unsigned long long);
int __clz(int);
int __clzll(long long);
int __ffs(int);
int __ffsll(long long);
unsigned __brev(unsigned);
unsigned long long __brevll(unsigned long long);
unsigned __byte_perm(unsigned, unsigned, unsigned);
unsigned __funnelshift_l(unsigned, unsigned, unsigned);
unsigned __funnelshift_r(unsigned, unsigned, unsigned);
unsigned __funnelshift_lc(unsigned, unsigned, unsigned);
unsigned __funnelshift_rc(unsigned, unsigned, unsigned);
int __mulhi(int, int);
unsigned __umulhi(unsigned, unsigned);
long long __mul64hi(long long, long long);
unsigned long long __umul64hi(unsigned long long, unsigned long long);
int __mul24(int, int);
unsigned __umul24(unsigned, unsigned);
int __dp4a(int, int, int);
unsigned __dp4a(unsigned, unsigned, unsigned);
unsigned __vadd4(unsigned, unsigned);
unsigned __sad(int, int, unsigned);

// ---- mathematics: the name of C for double and its float overload, NAMEf, and the fast intrinsics
#define HONE_MATH_1(name)     \
  float name(float);          \
  double name(double);        \
  float name##f(float);
#define HONE_MATH_2(name)            \
  float name(float, float);          \
  double name(double, double);       \
  float name##f(float, float);
#define HONE_MATH_3(name)                   \
  float name(float, float, float);          \
  double name(double, double, double);      \
  float name##f(float, float, float);
HONE_MATH_1(acos)
HONE_MATH_1(acosh)
HONE_MATH_1(asin)
HONE_MATH_1(asinh)
HONE_MATH_1(atan)
HONE_MATH_1(atanh)
HONE_MATH_1(cbrt)
HONE_MATH_1(ceil)
HONE_MATH_1(cos)
HONE_MATH_1(cosh)
HONE_MATH_1(cospi)
HONE_MATH_1(erf)
HONE_MATH_1(erfc)
HONE_MATH_1(erfinv)
HONE_MATH_1(exp)
HONE_MATH_1(exp10)
HONE_MATH_1(exp2)
HONE_MATH_1(expm1)
HONE_MATH_1(fabs)
HONE_MATH_1(floor)
HONE_MATH_1(lgamma)
HONE_MATH_1(log)
HONE_MATH_1(log10)
HONE_MATH_1(log1p)
HONE_MATH_1(log2)
HONE_MATH_1(nearbyint)
HONE_MATH_1(normcdf)
HONE_MATH_1(rcbrt)
HONE_MATH_1(rint)
HONE_MATH_1(round)
HONE_MATH_1(rsqrt)
HONE_MATH_1(sin)
HONE_MATH_1(sinh)
HONE_MATH_1(sinpi)
HONE_MATH_1(sqrt)
HONE_MATH_1(tan)
HONE_MATH_1(tanh)
HONE_MATH_1(tgamma)
HONE_MATH_1(trunc)
HONE_MATH_2(atan2)
HONE_MATH_2(copysign)
HONE_MATH_2(fdim)
HONE_MATH_2(fmax)
HONE_MATH_2(fmin)
HONE_MATH_2(fmod)
HONE_MATH_2(hypot)
HONE_MATH_2(nextafter)
HONE_MATH_2(pow)
HONE_MATH_2(remainder)
HONE_MATH_3(fma)
#undef HONE_MATH_1
#undef HONE_MATH_2
#undef HONE_MATH_3
float fdividef(float, float);
float ldexpf(float, int);
double ldexp(double, int);
float frexpf(float, int*);
double frexp(double, int*);
int ilogbf(float);
int ilogb(double);
long lroundf(float);
long lround(double);
int abs(int);
long abs(long);
long long abs(long long);
float abs(float);
double abs(double);
int isnan(double);
int isinf(double);
int isfinite(double);
int signbit(double);
void sincosf(float, float*, float*);
void sincos(double, double*, double*);
#define HONE_MIN_MAX(T) \
  T min(T, T);          \
  T max(T, T);
HONE_MIN_MAX(int)
HONE_MIN_MAX(unsigned)
HONE_MIN_MAX(long)
HONE_MIN_MAX(unsigned long)
HONE_MIN_MAX(long long)
HONE_MIN_MAX(unsigned long long)
HONE_MIN_MAX(float)
HONE_MIN_MAX(double)
#undef HONE_MIN_MAX
float __expf(float);
float __exp2f(float);
float __exp10f(float);
float __logf(float);
float __log2f(float);
float __log10f(float);
float __powf(float, float);
float __sinf(float);
float __cosf(float);
float __tanf(float);
void __sincosf(float, float*, float*);
float __fdividef(float, float);
float __saturatef(float);
float __frsqrt_rn(float);
float __frcp_rn(float);
float __fsqrt_rn(float);
float __fadd_rn(float, float);
float __fsub_rn(float, float);
float __fmul_rn(float, float);
float __fdiv_rn(float, float);
float __fmaf_rn(float, float, float);
double __dadd_rn(double, double);
double __dmul_rn(double, double);
double __fma_rn(double, double, double);
