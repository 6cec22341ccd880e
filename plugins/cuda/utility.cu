// What a cuda device does itself: random inputs, comparison with the reference, checksums, emptying the L2. Compiled with NVRTC on first
// use.
#include <hone/kernel.h>
#include <hone/kernel_narrow.h>
#include <hone/random.h>

// The same layout as in utilities.cpp.
struct Summary {
  double squares;       // sum of the squares of the finite expected values
  u64 finite;           // and how many there are
  u64 mismatches, not_finite, first_mismatch;
  u64 max_error_bits;   // a double that is not negative orders like its bits
  double first_actual, first_expected;
  u64 checksum;
};

// As in hone::DType.
enum { kF32, kF16, kBF16, kF64, kI32, kI8, kU8, kI16, kU16, kU32, kI64, kU64, kBool, kE4M3, kE5M2, kI4x2, kU4x2 };

__device__ double element(const void* from, int dtype, u64 i) {
  switch (dtype) {
    case kF32: return static_cast<const f32*>(from)[i];
    case kF16: return static_cast<float>(static_cast<const f16*>(from)[i]);
    case kBF16: return static_cast<float>(static_cast<const bf16*>(from)[i]);
    case kF64: return static_cast<const f64*>(from)[i];
    case kI32: return static_cast<const i32*>(from)[i];
    case kI8: return static_cast<const i8*>(from)[i];
    case kI16: return static_cast<const i16*>(from)[i];
    case kU16: return static_cast<const u16*>(from)[i];
    case kU32: return static_cast<const u32*>(from)[i];
    case kI64: return static_cast<double>(static_cast<const i64*>(from)[i]);
    case kU64: return static_cast<double>(static_cast<const u64*>(from)[i]);
    case kE4M3: return static_cast<float>(static_cast<const e4m3*>(from)[i]);
    case kE5M2: return static_cast<float>(static_cast<const e5m2*>(from)[i]);
    default: return static_cast<const u8*>(from)[i];
  }
}

__device__ bool is_finite(double x) { return fabs(x) <= 1.7976931348623157e308; }

__device__ u64 first_index() { return static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ u64 stride() { return static_cast<u64>(gridDim.x) * blockDim.x; }

// To integers toward zero, and no further than their bounds, as conversions do in PTX.
__device__ void set_element(void* to, int dtype, u64 i, double x) {
  switch (dtype) {
    case kF32: static_cast<f32*>(to)[i] = static_cast<float>(x); break;
    case kF16: static_cast<f16*>(to)[i] = f16(static_cast<float>(x)); break;
    case kBF16: static_cast<bf16*>(to)[i] = bf16(static_cast<float>(x)); break;
    case kF64: static_cast<f64*>(to)[i] = x; break;
    case kI32: static_cast<i32*>(to)[i] = __double2int_rz(x); break;
    case kI8: static_cast<i8*>(to)[i] = static_cast<i8>(__double2int_rz(fmin(fmax(x, -128.0), 127.0))); break;
    case kI16: static_cast<i16*>(to)[i] = static_cast<i16>(__double2int_rz(fmin(fmax(x, -32768.0), 32767.0))); break;
    case kU16: static_cast<u16*>(to)[i] = static_cast<u16>(__double2int_rz(fmin(fmax(x, 0.0), 65535.0))); break;
    case kU32: static_cast<u32*>(to)[i] = __double2uint_rz(x); break;
    case kI64: static_cast<i64*>(to)[i] = __double2ll_rz(x); break;
    case kU64: static_cast<u64*>(to)[i] = __double2ull_rz(x); break;
    case kBool: static_cast<u8*>(to)[i] = x >= 1; break;
    case kE4M3: static_cast<e4m3*>(to)[i] = e4m3(static_cast<float>(x)); break;
    case kE5M2: static_cast<e5m2*>(to)[i] = e5m2(static_cast<float>(x)); break;
    default: static_cast<u8*>(to)[i] = static_cast<u8>(__double2int_rz(fmin(fmax(x, 0.0), 255.0))); break;
  }
}

__device__ double largest(int dtype) {
  switch (dtype) {
    case kF16: return 65504;
    case kI32: return 2147483647;
    case kI8: return 127;
    case kI16: return 32767;
    case kU16: return 65535;
    case kU32: return 4294967295;
    case kI64: return 9223372036854775807.0;
    case kU64: return 18446744073709551615.0;
    case kU8: case kI4x2: case kU4x2: return 255;
    case kBool: return 1;
    case kE4M3: return e4m3::largest;
    case kE5M2: return e5m2::largest;
    default: return 3.4028234663852886e38;
  }
}

__device__ double usual_element(int dtype, u64 seed, u64 i) {
  switch (dtype) {
    case kI32: case kI8: case kI16: case kI64: return hone::random_integer(seed, i);
    case kU8: case kU16: case kU32: case kU64: case kI4x2: case kU4x2: return hone::random_unsigned(seed, i);
    case kBool: return hone::random_boolean(seed, i);
    default: return hone::random_element(seed, i);
  }
}

extern "C" __global__ void hone_randomize(void* to, int dtype, u64 count, u64 seed) {
  for (u64 i = first_index(); i < count; i += stride()) {
    set_element(to, dtype, i, usual_element(dtype, seed, i));
  }
}

extern "C" __global__ void hone_squares(const double* expected, u64 count, Summary* summary) {
  double squares = 0;
  u64 finite = 0;
  for (u64 i = first_index(); i < count; i += stride()) {
    const double x = expected[i];
    if (is_finite(x)) {
      squares += x * x;
      ++finite;
    }
  }
  __shared__ double block_squares;
  __shared__ u64 block_finite;
  if (threadIdx.x == 0) {
    block_squares = 0;
    block_finite = 0;
  }
  __syncthreads();
  atomicAdd(&block_squares, squares);
  atomicAdd(&block_finite, finite);
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(&summary->squares, block_squares);
    atomicAdd(&summary->finite, block_finite);
  }
}

// How far off `actual` is, as a share of what is allowed. NaN is always infinitely far off, also where a NaN was expected.
__device__ double error_share(double actual, double expected, double allowed) {
  if (actual == expected) {
    return 0;
  }
  const double difference = fabs(actual - expected);
  if (!is_finite(difference) || !(allowed > 0)) {
    return __longlong_as_double(0x7ff0000000000000LL);
  }
  return difference / allowed;
}

extern "C" __global__ void hone_compare(const void* actual, int dtype, const double* expected, u64 count, double relative, double absolute_rms,
                                        double absolute, Summary* summary) {
  const double mean = summary->finite > 0 ? summary->squares / static_cast<double>(summary->finite) : 0;
  const double floor = (is_finite(mean) ? absolute_rms * sqrt(mean) : 0) + absolute;
  u64 mismatches = 0, not_finite = 0, first = ~0ull;
  double worst = 0;
  for (u64 i = first_index(); i < count; i += stride()) {
    const double a = element(actual, dtype, i), e = expected[i];
    const double share = error_share(a, e, relative * fabs(e) + floor);
    worst = fmax(worst, share);
    not_finite += !is_finite(a) && is_finite(e);
    if (share > 1) {
      ++mismatches;
      first = i < first ? i : first;
    }
  }
  __shared__ u64 block[4];
  if (threadIdx.x < 4) {
    block[threadIdx.x] = threadIdx.x == 2 ? ~0ull : 0;
  }
  __syncthreads();
  atomicAdd(&block[0], mismatches);
  atomicAdd(&block[1], not_finite);
  atomicMin(&block[2], first);
  atomicMax(&block[3], static_cast<u64>(__double_as_longlong(worst)));
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(&summary->mismatches, block[0]);
    atomicAdd(&summary->not_finite, block[1]);
    atomicMin(&summary->first_mismatch, block[2]);
    atomicMax(&summary->max_error_bits, block[3]);
  }
}

extern "C" __global__ void hone_first(const void* actual, int dtype, const double* expected, u64 count, Summary* summary) {
  if (summary->first_mismatch < count) {
    summary->first_actual = element(actual, dtype, summary->first_mismatch);
    summary->first_expected = expected[summary->first_mismatch];
  }
}

// One product for eight bytes, of halves that are shifted by their position, as the universal hash NH has it (Black et al. 1999, "UMAC: fast
// and secure message authentication"), and the word itself, for a half that happens to be zero.
__device__ u64 mixed(u64 word, u64 i) {
  const unsigned key = static_cast<unsigned>(i) * 0x9e3779b9u + static_cast<unsigned>(i >> 32);
  return static_cast<u64>(static_cast<unsigned>(word) + key) * (static_cast<unsigned>(word >> 32) + (key ^ 0x5bd1e995u)) + word;
}

// A sum over words, each mixed with its position: independent of the order in which threads come. The last word is padded with zeros.
__device__ u64 partial_checksum(const unsigned char* from, u64 bytes) {
  u64 sum = 0, begin = 0;
  if (reinterpret_cast<u64>(from) % 16 == 0) {
    for (u64 i = first_index(); i < bytes / 16; i += stride()) {
      const ulonglong2 words = reinterpret_cast<const ulonglong2*>(from)[i];
      sum += mixed(words.x, 2 * i) + mixed(words.y, 2 * i + 1);
    }
    begin = bytes / 16 * 2;
  }
  for (u64 i = begin + first_index(); i < (bytes + 7) / 8; i += stride()) {
    u64 word = 0;
    for (u64 b = i * 8; b < bytes && b < (i + 1) * 8; ++b) {
      word |= static_cast<u64>(from[b]) << (b % 8 * 8);
    }
    sum += mixed(word, i);
  }
  return sum;
}

// Adds the block's shares to *to, which starts from zero.
__device__ void add_shares(u64 share, u64* to) {
  __shared__ u64 block;
  if (threadIdx.x == 0) {
    block = 0;
  }
  __syncthreads();
  atomicAdd(&block, share);
  __syncthreads();
  if (threadIdx.x == 0 && block != 0) {
    atomicAdd(to, block);
  }
}

// The checksum of region blockIdx.y goes to sums[index].
struct SummedRegions {
  struct {
    const unsigned char* address;
    u64 bytes, index;
  } each[128];
};
extern "C" __global__ void hone_checksums(SummedRegions regions, u64* sums) {
  add_shares(partial_checksum(regions.each[blockIdx.y].address, regions.each[blockIdx.y].bytes), &sums[regions.each[blockIdx.y].index]);
}

// ---- outputs whose answers are known ----------------------------------------------------------------------------------------------------

// The same layout as in utilities.cpp.
struct Watch {
  void* address;
  const double* expected;
  u64 count;
  double relative, absolute;
  int dtype, spoiled;
};

// blockIdx.y is the watch.
extern "C" __global__ void hone_spoil(const Watch* watches, u64 seed, u64 most) {
  const Watch watch = watches[blockIdx.y];
  if (!watch.spoiled) {
    return;
  }
  const u64 spots = watch.count < most ? watch.count : most;
  for (u64 k = first_index(); k < spots; k += stride()) {
    const u64 i = hone::spot(seed, k, watch.count, most);
    const double expected = watch.expected[i], other = watch.expected[hone::random_bits(~seed, i) % watch.count];
    set_element(watch.address, watch.dtype, i, hone::decoy(expected, other, watch.relative * fabs(expected) + watch.absolute, largest(watch.dtype)));
  }
}

extern "C" __global__ void hone_unmended(const Watch* watches, u64 seed, u64 most, u64* wrong) {
  const Watch watch = watches[blockIdx.y];
  const u64 spots = watch.count < most ? watch.count : most;
  u64 seen = 0;
  for (u64 k = first_index(); k < spots; k += stride()) {
    const u64 i = hone::spot(seed, k, watch.count, most);
    const double expected = watch.expected[i];
    seen += error_share(element(watch.address, watch.dtype, i), expected, watch.relative * fabs(expected) + watch.absolute) > 1;
  }
  add_shares(seen, wrong);
}

// Fills the shared memory of the multiprocessor that it runs on, all that a block can have.
extern "C" __global__ void hone_paint_shared(unsigned pattern, int words) {
  extern __shared__ unsigned painted[];
  for (int i = threadIdx.x; i < words; i += blockDim.x) {
    static_cast<volatile unsigned*>(painted)[i] = pattern;
  }
}

// Reads memory that holds nothing but zeros, so that the L2 holds nothing else.
extern "C" __global__ void hone_displace(const uint4* zeros, u64 words, Summary* summary) {
  unsigned seen = 0;
  for (u64 i = first_index(); i < words; i += stride()) {
    const uint4 word = zeros[i];
    seen |= word.x | word.y | word.z | word.w;
  }
  if (seen != 0) {  // never: the reads must not be optimized away
    summary->checksum = seen;
  }
}

// Inverts all bits of the regions. With `late` it first lets the next kernel begin, and gives it time to come to where it reads.
struct Regions {
  struct {
    unsigned char* address;
    u64 bytes;
  } each[32];
};
extern "C" __global__ void hone_invert(Regions regions, int count, int late) {
  if (late) {
    launch_dependents();
    const long long begin = clock64();
    while (clock64() - begin < 40000) {
    }
  }
  for (int region = 0; region < count; ++region) {
    unsigned char* const bytes = regions.each[region].address;
    const u64 words = regions.each[region].bytes / 16;
    for (u64 i = first_index(); i < words; i += stride()) {
      uint4& word = reinterpret_cast<uint4*>(bytes)[i];
      word = {~word.x, ~word.y, ~word.z, ~word.w};
    }
    for (u64 i = words * 16 + first_index(); i < regions.each[region].bytes; i += stride()) {
      bytes[i] = static_cast<unsigned char>(~bytes[i]);
    }
  }
}
