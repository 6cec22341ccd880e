#pragma once
// In the place of <hone/kernel_hopper.h> and of attention_wgmma's own instructions on the cpu device: barriers, copies by tensor maps into
// tiles whose lines of 128 bytes are swizzled, and products of a warpgroup. Whatever is asynchronous is done at once.
#if !defined(HONE_READ)
/// A tensor map as far as it is needed here: the array, its extents and the box, inner axis first; the inner extent of the box and an
/// element in bytes.
struct EmulatedMap {
  const void* array;
  long size[4];
  int box[4], element;
};

namespace hopper {
using u16 = unsigned short;
using u32 = unsigned;
using u64 = unsigned long;

inline thread_local u64 upper_half = 0;
inline u32 shared_address(const void* pointer) {
  upper_half = (u64)pointer >> 32 << 32;
  return (u32)(u64)pointer;
}
inline unsigned char* shared_at(u32 address) { return (unsigned char*)(upper_half | address); }

struct Barrier {
  unsigned char phase, arrivals, missing;
  int bytes;
  void end_phase() {
    if (missing > 0 || bytes != 0) return;
    phase ^= 1;
    missing = arrivals;
  }
};
static_assert(sizeof(Barrier) == 8);
inline Barrier& barrier_at(u32 address) { return *(Barrier*)shared_at(address); }
inline void mbarrier_init(u32 barrier, u32 arrivals) { barrier_at(barrier) = {0, (unsigned char)arrivals, (unsigned char)arrivals, 0}; }
inline void fence_mbarrier_init() {}
inline void mbarrier_arrive_expect_tx(u32 barrier, u32 bytes) {
  Barrier& at = barrier_at(barrier);
  if (at.missing == 0) __builtin_trap();  // more arrivals than a phase has
  at.bytes += (int)bytes;
  --at.missing;
  at.end_phase();
}
inline void mbarrier_arrive(u32 barrier) { mbarrier_arrive_expect_tx(barrier, 0); }
inline void mbarrier_wait(u32 barrier, u32 parity) {
  while (barrier_at(barrier).phase == parity) __nanosleep(1);
}

inline void store_pair(u32 to, float x, float y) { ((float*)shared_at(to))[0] = x, ((float*)shared_at(to))[1] = y; }
inline void load_words(u32& a, u32& b, u32& c, u32& d, u32 from) {
  const u32* const at = (const u32*)shared_at(from);
  a = at[0], b = at[1], c = at[2], d = at[3];
}
inline void grid_dependency_wait_after(const void*, const void*) {}

inline void prefetch_tensor_map(const EmulatedMap&) {}
template <int>
void setmaxnreg_dec() {}
template <int>
void setmaxnreg_inc() {}
inline void wgmma_fence() {}
inline void wgmma_commit_group() {}
/// Of a block's barriers; its threads take turns in one. What one block leaves another one finds: each thread begins with clear_barriers.
inline thread_local int arrived_at[32], passed_by[32];
inline void clear_barriers() {
  for (int id = 0; id < 32; ++id) arrived_at[id] = passed_by[id] = 0;
}
inline void barrier_sync(int id, int threads) {
  const int before = passed_by[id];
  if (++arrived_at[id] == threads) {
    arrived_at[id] = 0;
    ++passed_by[id];
  }
  while (passed_by[id] == before) __nanosleep(1);
}
/// Barrier `id` (1 to 15).
inline void named_barrier_sync(int id, int threads) { barrier_sync(id, threads); }
/// Products end for all warps at once.
template <int>
void wgmma_wait_group() {
  barrier_sync(16 + (int)threadIdx.x / 128, 128);
}
/// The address in units of 16 bytes, and the bytes from one panel of columns to the next; the kernel adds bits 62 and 63 for lines of 64
/// bytes.
inline u64 matrix_descriptor(u32 address, u32 leading, u32) { return address >> 4 | (u64)leading << 32; }

inline void fence_proxy_async() {}
inline void stmatrix(u32 row, u32 a, u32 b, u32 c, u32 d) {
  const int lane = (int)threadIdx.x % 32;
  const u32 words[4] = {a, b, c, d};
  for (int m = 0; m < 4; ++m) *(u32*)(shared_at(__shfl_sync(0xffffffffu, row, m * 8 + lane / 4)) + lane % 4 * 4) = words[m];
}

// Configurations with clusters and ping-pong are not emulated.
inline u32 cluster_rank() { __builtin_trap(); }
inline void cluster_sync() { __builtin_trap(); }
inline void mbarrier_arrive_remote(u32, u32) { __builtin_trap(); }
}  // namespace hopper
inline void named_barrier_arrive(int, int) { __builtin_trap(); }
inline void tma_load_multicast(hopper::u32, const EmulatedMap&, int, int, int, int, hopper::u32, hopper::u16) { __builtin_trap(); }

inline void store_words(hopper::u32 to, hopper::u32 x, hopper::u32 y, hopper::u32 z, hopper::u32 w) {
  hopper::u32* const at = (hopper::u32*)hopper::shared_at(to);
  at[0] = x, at[1] = y, at[2] = z, at[3] = w;
}
inline void load_pair(float (&to)[2], hopper::u32 from) {
  for (int i = 0; i < 2; ++i) to[i] = ((const float*)hopper::shared_at(from))[i];
}
template <int n>
void fence_registers(float (&)[n]) {}
template <int n>
void fence_registers(hopper::u32 (&)[n]) {}
inline void finish_before(float, float, hopper::u32) {}

inline void ldmatrix_trans(unsigned (&to)[4], unsigned row) {
  const int lane = (int)threadIdx.x % 32;
  for (int m = 0; m < 4; ++m) {
    to[m] = 0;
    for (int e = 0; e < 2; ++e) {
      const unsigned from = __shfl_sync(0xffffffffu, row, m * 8 + lane % 4 * 2 + e);
      to[m] |= (unsigned)*(const unsigned short*)(hopper::shared_at(from) + lane / 4 * 2) << 16 * e;
    }
  }
}

/// Where byte `at` of a line of so many bytes is, from the beginning of a tile.
inline int swizzled(int bytes, int line, int at) {
  const int mask = bytes == 128 ? line % 8 : line / 2 % 4;
  return line * bytes + (at / 16 ^ mask) * 16 + at % 16;
}

inline void tma_load(hopper::u32 to, const EmulatedMap& map, int x, int y, int z, int u, hopper::u32 barrier) {
  const int lines = map.box[1] * map.box[2], bytes = map.box[0];
  for (int line = 0; line < lines; ++line) {
    const long b = y + line % map.box[1], c = z + line / map.box[1];
    const bool inside = b < map.size[1] && c < map.size[2] && u < map.size[3];
    const unsigned char* const from =
        (const unsigned char*)map.array + (((u * map.size[2] + c) * map.size[1] + b) * map.size[0] + x) * map.element;
    const long columns = (map.size[0] - x) * map.element;  // bytes that there are
    for (int e = 0; e < bytes; ++e) *hopper::shared_at(to + swizzled(bytes, line, e)) = inside && e < columns ? from[e] : 0;
  }
  hopper::barrier_at(barrier).bytes -= lines * bytes;
  hopper::barrier_at(barrier).end_phase();
}

namespace hopper {
constexpr u64 kEvictNormal = 0;
inline void tma_load(u32 to, const EmulatedMap& map, int x, int y, u32 barrier) { ::tma_load(to, map, x, y, 0, 0, barrier); }
inline void tma_load(u32, const EmulatedMap&, int, int, u32, u64, u16) { __builtin_trap(); }
}  // namespace hopper

/// A sum as the instruction adds it. Products of 8 bits and the sum before them are aligned to the largest of all, cut off behind 13 binary
/// places and added; wider ones are summed in float (DeepSeek-V3, arXiv 2412.19437, 3.3.2; its 14 bits have the leading one).
template <class T, int n>
float summed(float before, const float (&products)[n]) {
  float sum = before, largest = __builtin_fabsf(before);
  for (const float product : products) {
    sum += product;
    if (largest < __builtin_fabsf(product)) largest = __builtin_fabsf(product);
  }
  if (sizeof(T) > 1 || !(largest > 1e-30f && largest < 1e30f)) return sum;
  const float quantum = __builtin_ldexpf(1.0f, __builtin_ilogbf(largest) - 13);
  sum = __builtin_truncf(before / quantum);
  for (const float product : products) sum += __builtin_truncf(product / quantum);
  return sum * quantum;
}
template <class T>
float number_at(hopper::u32 address) {
  return (float)*(const T*)hopper::shared_at(address);
}
/// Row and column of sum i of this thread.
inline int row_of_sum(int i) { return (int)threadIdx.x % 128 / 32 * 16 + (int)threadIdx.x % 32 / 4 + i / 2 % 2 * 8; }
inline int column_of_sum(int i) { return i / 4 * 8 + (int)threadIdx.x % 4 * 2 + i % 2; }

/// Element k of a line of an operand whose lines run along k.
template <class T>
float along_k(hopper::u64 operand, int line, int k) {
  const hopper::u32 bytes = operand >> 62 ? 64 : 128, address = (hopper::u32)operand << 4, first = address % bytes;
  return number_at<T>(address - first + swizzled((int)bytes, line, (int)(first + k * sizeof(T))));
}
template <class T, int n>
void scores_product(float (&sums)[n / 2], hopper::u64 a, hopper::u64 b, bool accumulate) {
  for (int i = 0; i < n / 2; ++i) {
    float products[32 / sizeof(T)];
    for (int k = 0; k < 32 / (int)sizeof(T); ++k) products[k] = along_k<T>(a, row_of_sum(i), k) * along_k<T>(b, column_of_sum(i), k);
    sums[i] = summed<T>(accumulate ? sums[i] : 0, products);
  }
}

/// Both operands in shared memory, with lines along m and n.
template <class T, int n>
void transposed_product(float (&sums)[n / 2], hopper::u64 a, hopper::u64 b, bool accumulate) {
  const hopper::u32 left = (hopper::u32)a << 4, first = ((hopper::u32)b << 4) % 128, right = ((hopper::u32)b << 4) - first;
  const hopper::u32 panel = (hopper::u32)(b >> 32);
  for (int i = 0; i < n / 2; ++i) {
    const int row = row_of_sum(i), column = column_of_sum(i);
    float products[16];
    for (int k = 0; k < 16; ++k) {
      const float value = number_at<T>(right + column / 64 * panel + swizzled(128, k, (int)first + column % 64 * 2));
      products[k] = number_at<T>(left + swizzled(128, k, row * 2)) * value;
    }
    sums[i] = summed<T>(accumulate ? sums[i] : 0, products);
  }
}
inline void bulk_load(hopper::u32 to, const void* from, int bytes, hopper::u32 barrier) {
  __builtin_memcpy(hopper::shared_at(to), from, bytes);
  hopper::barrier_at(barrier).bytes -= bytes;
  hopper::barrier_at(barrier).end_phase();
}
inline void add_four(float* to, float x, float y, float z, float w) {
  atomicAdd(to, x), atomicAdd(to + 1, y), atomicAdd(to + 2, z), atomicAdd(to + 3, w);
}

/// The left operand, a lane's words: as many numbers as fit of row i % 2, behind those of the lanes before it.
template <class T, int n>
void weighted_sum(float (&sums)[n / 2], const hopper::u32* a, hopper::u64 b, bool accumulate) {
  constexpr int kNumbers = 4 / sizeof(T), kDepth = 8 * kNumbers;
  float weights[2][kDepth];  // of this thread's two rows
  for (int lane = 0; lane < 4; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const unsigned word = __shfl_sync(0xffffffffu, a[i], (int)threadIdx.x % 32 / 4 * 4 + lane);
      T numbers[kNumbers];
      __builtin_memcpy(numbers, &word, 4);
      for (int e = 0; e < kNumbers; ++e) weights[i % 2][(i / 2 * 4 + lane) * kNumbers + e] = (float)numbers[e];
    }
  }
  const hopper::u32 begin = (hopper::u32)b << 4, panel = (hopper::u32)(b >> 32);
  for (int i = 0; i < n / 2; ++i) {
    const int column = column_of_sum(i);
    float products[kDepth];
    for (int k = 0; k < kDepth; ++k) {
      const float value = sizeof(T) == 1 ? along_k<T>(b, column, k)  // lines along k, or along columns
                                         : number_at<T>(begin + column / 64 * panel + swizzled(128, k, column % 64 * 2));
      products[k] = weights[i / 2 % 2][k] * value;
    }
    sums[i] = summed<T>(accumulate ? sums[i] : 0, products);
  }
}
#endif
