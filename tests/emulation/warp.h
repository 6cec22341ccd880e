#pragma once
// In the place of gemm_mma/instructions.h and attention_copies.h of kernels_src on the cpu device: what their instructions do, by the
// tables of the PTX ISA. A shared address is the lower half of a pointer; the upper one is the same in a whole block.
#if !defined(HONE_READ)
inline thread_local unsigned long upper_half = 0;
inline unsigned long shared_address_of(const void* pointer) {
  upper_half = (unsigned long)pointer >> 32 << 32;
  return (unsigned long)pointer & 0xffffffffu;
}
inline unsigned char* shared_at(unsigned address) { return (unsigned char*)(upper_half | address); }

template <int count, bool once>
void copy_async(unsigned to, const void* from, bool inside) {
  for (int i = 0; i < count * 2; ++i) shared_at(to)[i] = inside ? ((const unsigned char*)from)[i] : 0;
}
template <bool once>
void copy_word(unsigned to, const void* from, bool inside) {
  copy_async<8, once>(to, from, inside);
}
inline void cp_async_commit_group() {}
template <int pending>
void cp_async_wait_group() {}

inline int lane_in_warp() { return (int)threadIdx.x % 32; }
inline void ldmatrix(unsigned (&to)[4], unsigned row) {
  const int lane = lane_in_warp();
  for (int m = 0; m < 4; ++m) {
    const unsigned from = __shfl_sync(0xffffffffu, row, m * 8 + lane / 4);
    to[m] = *(const unsigned*)(shared_at(from) + lane % 4 * 4);
  }
}
inline void ldmatrix_trans(unsigned (&to)[4], unsigned row) {
  const int lane = lane_in_warp();
  for (int m = 0; m < 4; ++m) {
    to[m] = 0;
    for (int e = 0; e < 2; ++e) {
      const unsigned from = __shfl_sync(0xffffffffu, row, m * 8 + lane % 4 * 2 + e);
      to[m] |= (unsigned)*(const unsigned short*)(shared_at(from) + lane / 4 * 2) << 16 * e;
    }
  }
}

template <class T>
float half_of(unsigned word, int half) {
  return (float)__builtin_bit_cast(T, (unsigned short)(word >> 16 * half));
}
template <class T>
void mma(float (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  const int lane = lane_in_warp();
  for (int k = 0; k < 16; k += 2) {
    unsigned left[2], right[2];
    for (int i = 0; i < 2; ++i) {
      left[i] = __shfl_sync(0xffffffffu, a[k / 8 * 2 + i], lane / 4 * 4 + k / 2 % 4);
      right[i] = __shfl_sync(0xffffffffu, k < 8 ? b0 : b1, (lane % 4 * 2 + i) * 4 + k / 2 % 4);
    }
    for (int i = 0; i < 8; ++i) sums[i / 2] += half_of<T>(left[i / 4], i % 2) * half_of<T>(right[i / 2 % 2], i % 2);
  }
}
#endif
