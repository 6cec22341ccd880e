#pragma once
// The header of kernel files: the marks that make a file self-describing, the element types, and a few helpers. It includes nothing itself
// (every header costs compile time in every candidate). One text serves three readers:
//   libclang (HONE_READ): marks become annotations, CUDA's names are declared so that bodies parse;
//   NVRTC and nvcc:       marks expand to nothing, the kernel is an ordinary CUDA template that any program can instantiate;
//   the host compiler (HONE_CPU): CUDA's names come from <hone/kernel_cpu.h>.

// ---- marks ----------------------------------------------------------------------------------------------------------------------------
// struct Config fields:
//   TUNE(values...)          the values the tuner may choose; the initializer is the safe default and must be one of them
//   OPTION("--flag={}")      after TUNE: the value is passed to the device compiler as this option; 0 omits the option
// struct Problem fields (long, bool, enumerations):
//   RANGE(0)  RANGE(1, 64)   minimum of an extent, and optionally its maximum; the default minimum is 1
//   STATIC long head = 128;  compiled in: p.head and Problem::head are constant expressions, and each value has its own code
//   OPTION("-DNAME={}")      after TUNE: the value defines the macro NAME in the kernel's code, for all compilers; 0 is an ordinary value
// anywhere in the file:
//   FLAGS("-I../include --use_fast_math");   options of the compilers, as on the command: -I, -D and -U for all, others for CUDA's alone
//   SHAPES({.m = 1, .n = 4097}, {.k = 2});   problems that every candidate is to be right on, beside the small ones that Hone makes
//   OPERATION(matmul);       the kernel computes what others of this operation do, on the same Problem and arguments: one of them is chosen
// kernel parameters (N elements; an expression over p, c and sizeof(T)):
//   IN(N) OUT(N) INOUT(N)    read, written, both. INOUT is restored before every run
//   IN(N, .low = 0, .below = p.bins)   describes an input's elements; also .sorted, .distinct, .permutation, .normal, .zeros = 0.9
//   OUT_ZEROED(N)            written, and zero before every run (for atomics)
//   WORKSPACE(N) WORKSPACE_ZEROED(N)   scratch memory that Hone allocates; the caller does not pass it
//   SCALAR(default)          a number the caller passes
//   TENSOR_MAP(a, .size = {p.k, p.m}, .box = {c.bk, c.bm}, .swizzle = 128)   on a `const __grid_constant__ TensorMap`: how the tensor
//                            memory accelerator sees argument a (see TensorView; over p, c, sizeof(T)). The device encodes the map
// at file scope:
//   CONSTANT(N) float f[289];   constant memory, at most 289 elements: an input after the kernel's parameters, copied there before each launch.
//                            `CONSTANT(N) extern float f[];` after its definition marks an array of included code
// functions:
//   KERNEL                   a __global__ function; several in one file are passes that run in order. On a non-template declaration:
//                            a function of an included file, launched unchanged
//   DTYPES(f32, f64, ...)    after KERNEL: the types of T; default f32, f16 and bf16. With several type parameters: DTYPES(In = f16 | f32, Out = f32)
//   LAUNCH_BOUNDS(...)       __launch_bounds__
//   REFERENCE(N)             the correct answer in double, called once for each index in [0, N); several in one file run in order, on the
//                            same outputs. Also takes `Config c` if the configuration defines the result
//   TOLERANCE(y, .ulps = 1)  after REFERENCE(N): the allowed error of output y; also .absolute, .relative, .fraction = 0.999, .set
//   INPUT(x, N)              fills input x: T x_input(long i, Random& random, Problem p) returns element i
//   ACCEPT(N)                bool: whether the result is correct at an index in [0, N), for results with several correct answers
#define FLAGS(...)
#if defined(HONE_READ)
#define HONE_MARK(text) __attribute__((annotate(text)))
#define STATIC HONE_MARK("hone:static") static constexpr
// Not on the array itself: clang drops attributes of a declaration after the definition.
#define HONE_JOINED(a, b) a##b
#define HONE_NAME(a, b) HONE_JOINED(a, b)
#define CONSTANT(...) extern HONE_MARK("hone:constant:" #__VA_ARGS__) const int HONE_NAME(hone_constant_, __COUNTER__);
#define TUNE(...) HONE_MARK("hone:tune:" #__VA_ARGS__)
#define OPTION(text) HONE_MARK("hone:option:" text)
#define IN(...) HONE_MARK("hone:in:" #__VA_ARGS__)
#define OUT(...) HONE_MARK("hone:out:" #__VA_ARGS__)
#define INOUT(...) HONE_MARK("hone:inout:" #__VA_ARGS__)
#define OUT_ZEROED(...) HONE_MARK("hone:out_zeroed:" #__VA_ARGS__)
#define WORKSPACE(...) HONE_MARK("hone:workspace:" #__VA_ARGS__)
#define WORKSPACE_ZEROED(...) HONE_MARK("hone:workspace_zeroed:" #__VA_ARGS__)
#define SCALAR(...) HONE_MARK("hone:scalar:" #__VA_ARGS__)
#define TENSOR_MAP(...) HONE_MARK("hone:tensor_map:" #__VA_ARGS__)
#define RUN_INDEX HONE_MARK("hone:run_index")
#define KERNEL HONE_MARK("hone:kernel")
#define DTYPES(...) HONE_MARK("hone:dtypes:" #__VA_ARGS__)
#define REFERENCE(...) HONE_MARK("hone:reference:" #__VA_ARGS__)
#define RANGE(...) HONE_MARK("hone:range:" #__VA_ARGS__)
#define TOLERANCE(...) HONE_MARK("hone:tolerance:" #__VA_ARGS__)
#define INPUT(...) HONE_MARK("hone:input:" #__VA_ARGS__)
#define ACCEPT(...) HONE_MARK("hone:accept:" #__VA_ARGS__)
#define LAUNCH_BOUNDS(...)
#define HONE_JOIN_WORDS(a, b) a##b
#define HONE_JOIN(a, b) HONE_JOIN_WORDS(a, b)
#define SHAPES(...) extern HONE_MARK("hone:shapes:" #__VA_ARGS__) const int HONE_JOIN(hone_shapes_, __COUNTER__)
#define OPERATION(...) extern HONE_MARK("hone:operation:" #__VA_ARGS__) const int HONE_JOIN(hone_operation_, __COUNTER__)
#else
#define STATIC static constexpr
#define SHAPES(...)
#define OPERATION(...)
#define TUNE(...)
#define OPTION(text)
#define IN(...)
#define OUT(...)
#define INOUT(...)
#define OUT_ZEROED(...)
#define WORKSPACE(...)
#define WORKSPACE_ZEROED(...)
#define SCALAR(...)
#define TENSOR_MAP(...)
#define RUN_INDEX
#define DTYPES(...)
#define TOLERANCE(...)
#define RANGE(...)
#if defined(__CUDACC__)
#define KERNEL __global__
#define CONSTANT(...) __constant__
#define REFERENCE(...) __device__
#define INPUT(...) __device__
#define ACCEPT(...) __device__
#define LAUNCH_BOUNDS(...) __launch_bounds__(__VA_ARGS__)
#else
#define KERNEL
#define CONSTANT(...)
#define REFERENCE(...)
#define INPUT(...)
#define ACCEPT(...)
#define LAUNCH_BOUNDS(...)
#endif
#endif

// ---- CUDA's names where there is no CUDA compiler ----------------------------------------------------------------------------------------
#if defined(HONE_READ)
#include <hone/kernel_read.h>
#elif !defined(__CUDACC__)
#include <hone/kernel_cpu.h>
#elif defined(__CUDACC_RTC__)  // NVRTC has no <math.h>; nvcc includes it by itself
#if !defined(INFINITY)
#define INFINITY __int_as_float(0x7f800000)
#endif
#if !defined(NAN)
#define NAN __int_as_float(0x7fffffff)
#endif
#endif
#if !defined(HONE_READ) && (!defined(__CUDACC__) || defined(__CUDACC_RTC__))
#include <hone/kernel_numbers.h>
#endif

// ---- what valid, launch and cost speak of ----------------------------------------------------------------------------------------------
/// Launch geometry of one pass. `shared` is dynamic shared memory in bytes; a pass with enabled = false is skipped. With overlap = true a
/// pass may begin while the one before it, or the kernel that was launched before the first one, still runs (a programmatic dependent
/// launch, if the device supports it): this hides launch latency. The kernel must call grid_dependency_wait() before it accesses memory.
struct Extent3 {
  long x = 1, y = 1, z = 1;
};
struct Launch {
  Extent3 grid, block, cluster;
  long shared = 0;
  bool cooperative = false;
  bool enabled = true;
  bool overlap = false;
  long repeat = 1;
};

/// flops of one run, its minimum memory traffic in bytes, and the length of the longest sum behind one output (it sets the tolerance).
struct Cost {
  double flops = 0, bytes = 0, sum_length = 1;
};

/// The device, for constraints: `valid(Problem p, Config c, Device d)`. shared_memory_per_block is the opt-in limit in bytes;
/// compute_capability is 90 for 9.0, and 0 on the cpu device.
struct Device {
  long shared_memory_per_block, shared_memory_per_multiprocessor, registers_per_multiprocessor, threads_per_block,
      threads_per_multiprocessor, multiprocessors, compute_capability, memory, l2_bytes, warp_size;
};

/// How a TENSOR_MAP sees an argument: as an array of up to five axes (x is the contiguous one), and the box
/// that one copy moves. Outside the array, copies read zeros and write nothing. Its base and strides must be multiples of 16 bytes,
/// and so must the offset along x at which a copy begins.
struct TensorAxes {
  long x = 0, y = 0, z = 0, u = 0, v = 0;  // 0: there is no such axis
};
struct TensorView {
  TensorAxes size;     // elements along each axis. All 0: the configuration does not use this map
  TensorAxes box;      // of one copy: at most 256 along an axis, and x a multiple of 16 bytes
  long swizzle = 0;    // 32, 64 or 128: rows of the box are so many bytes at most, and their 16-byte words change places in shared memory
  TensorAxes stride;   // elements from one to the next along y, z, ...; 0: the axes before it lie packed
  long offset = 0;     // elements of the argument before the array
  long l2 = 128;       // bytes that L2 fetches at least: 0, 64, 128 or 256
};
struct alignas(64) TensorMap {
  unsigned long opaque[16];
};

#if defined(__CUDACC__)
#define HONE_DEVICE __device__ __forceinline__
#define HONE_BOTH __host__ __device__ __forceinline__
#else
#define HONE_DEVICE inline
#define HONE_BOTH inline
#endif

template <class I> HONE_BOTH constexpr I ceil_div(I a, I b) { return (a + b - 1) / b; }
template <class I> HONE_BOTH constexpr I round_up(I a, I b) { return (a + b - 1) / b * b; }
template <class I> HONE_BOTH constexpr I min_of(I a, I b) { return a < b ? a : b; }
template <class I> HONE_BOTH constexpr I max_of(I a, I b) { return a < b ? b : a; }

// ---- element types ---------------------------------------------------------------------------------------------------------------------
using f32 = float;
using f64 = double;
using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned;
using i64 = long long;  // as CUDA's atomics and intrinsics have it
using u64 = unsigned long long;

/// IEEE half and bfloat16: storage types with conversions from and to float, rounded to nearest even. Arithmetic is done in float.
/// Layout-compatible with __half and __nv_bfloat16, without the 10 ms their headers cost in every compile.
struct alignas(2) f16 {
  unsigned short bits;
  f16() = default;
#if defined(__CUDACC__)
  HONE_DEVICE f16(float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
  HONE_DEVICE operator float() const { float x; asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits)); return x; }
#elif defined(HONE_READ)
  f16(float);
  operator float() const;
#else
  f16(float x) : bits(hone_float_to_half(x)) {}
  operator float() const { return hone_half_to_float(bits); }
#endif
};

struct alignas(2) bf16 {
  unsigned short bits;
  bf16() = default;
#if defined(__CUDACC__)
  HONE_DEVICE bf16(float x) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
  HONE_DEVICE operator float() const { return __int_as_float((int)bits << 16); }
#elif defined(HONE_READ)
  bf16(float);
  operator float() const;
#else
  bf16(float x) : bits(hone_float_to_bfloat(x)) {}
  operator float() const { return hone_bfloat_to_float(bits); }
#endif
};

/// Numbers for generators (INPUT): each element has its own sequence, the same on every device. SplitMix64's finalizer over a Weyl sequence
/// (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators").
struct Random {
  unsigned long long state;
  HONE_DEVICE Random(unsigned long long seed, long i) : state(seed * 0xd1342543de82ef95ULL + (i + 1) * 0xd6e8feb86659fd93ULL) {}
  HONE_DEVICE unsigned long long bits() {
    unsigned long long z = state += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  HONE_DEVICE float uniform() { return (float)(bits() >> 40) * 0x1p-24f; }                                    // in [0, 1)
  HONE_DEVICE float uniform(float low, float below) { return low + (below - low) * uniform(); }
  HONE_DEVICE long integer(long low, long below) { return low + (long)(bits() % (unsigned long long)(below - low)); }  // in [low, below)
  HONE_DEVICE float normal() { return sqrtf(-2.0f * logf(1.0f - uniform())) * cosf(6.2831853f * uniform()); }  // Box and Muller 1958
};

/// N elements that are loaded or stored in one access; the address must be a multiple of its size (at most 16 bytes).
template <class T, int N> struct alignas(N * sizeof(T)) Vector {
  T v[N];
  HONE_DEVICE T& operator[](int i) { return v[i]; }
  HONE_DEVICE const T& operator[](int i) const { return v[i]; }
};

/// load and store access any memory. store_global writes device memory that the kernel does not read, always in one access: the
/// compiler splits vectors, and sometimes does not recombine a plain store.
#if defined(__CUDACC__)
template <int bytes> struct MemoryWord;
template <> struct MemoryWord<1> { using type = unsigned char; };
template <> struct MemoryWord<2> { using type = unsigned short; };
template <> struct MemoryWord<4> { using type = unsigned; };
template <> struct MemoryWord<8> { using type = uint2; };
template <> struct MemoryWord<16> { using type = uint4; };

template <int N, class T> HONE_DEVICE Vector<T, N> load(const T* from) {
  return __builtin_bit_cast(Vector<T, N>, *reinterpret_cast<const typename MemoryWord<N * sizeof(T)>::type*>(from));
}
template <class T, int N> HONE_DEVICE void store(T* to, const Vector<T, N>& values) {
  using Word = typename MemoryWord<N * sizeof(T)>::type;
  *reinterpret_cast<Word*>(to) = __builtin_bit_cast(Word, values);
}
template <class T, int N> HONE_DEVICE void store_global(T* to, const Vector<T, N>& values) {
  using Word = typename MemoryWord<N * sizeof(T)>::type;
  const Word word = __builtin_bit_cast(Word, values);
  const size_t at = __cvta_generic_to_global(to);
  if constexpr (sizeof(Word) == 16) {
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(word.x), "r"(word.y), "r"(word.z), "r"(word.w));
  } else if constexpr (sizeof(Word) == 8) {
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(at), "r"(word.x), "r"(word.y));
  } else if constexpr (sizeof(Word) == 4) {
    asm volatile("st.global.b32 [%0], %1;" ::"l"(at), "r"(word));
  } else {
    *reinterpret_cast<Word*>(to) = word;
  }
}
#else
template <int N, class T> HONE_DEVICE Vector<T, N> load(const T* from) { return *reinterpret_cast<const Vector<T, N>*>(from); }
template <class T, int N> HONE_DEVICE void store(T* to, const Vector<T, N>& values) { *reinterpret_cast<Vector<T, N>*>(to) = values; }
template <class T, int N> HONE_DEVICE void store_global(T* to, const Vector<T, N>& values) { store(to, values); }
#endif

/// For passes that overlap (Launch::overlap; PTX: griddepcontrol). grid_dependency_wait returns when all kernels launched before have ended
/// and their writes are visible. Call it at the beginning of the kernel, after code that accesses only shared memory; every thread that
/// reads or writes memory calls it, or waits for a thread that did. launch_dependents, called by every block, lets the next kernel begin
/// as soon as there is room for its blocks; without it, the next kernel begins when all blocks have ended.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
HONE_DEVICE void grid_dependency_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
HONE_DEVICE void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
#else
HONE_DEVICE void grid_dependency_wait() {}
HONE_DEVICE void launch_dependents() {}
#endif
/// The names of 0.1; the next release removes them.
[[deprecated("use grid_dependency_wait()")]] HONE_DEVICE void await_pass_before() { grid_dependency_wait(); }
[[deprecated("use launch_dependents()")]] HONE_DEVICE void let_next_pass_begin() { launch_dependents(); }

/// Declares `T* name`, the block's dynamic shared memory (Launch::shared bytes), aligned to 128 bytes.
#if defined(__CUDACC__)
#define SHARED_DYNAMIC(T, name)                                 \
  extern __shared__ __align__(128) unsigned char hone_shared[]; \
  T* name = reinterpret_cast<T*>(hone_shared)
#else
#define SHARED_DYNAMIC(T, name) T* name = static_cast<T*>(hone_dynamic_shared())
#endif
