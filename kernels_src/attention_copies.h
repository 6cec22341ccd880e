#pragma once
// Asynchronous copies of the attention kernels for tensor cores (compute capability 8.0).
#include "gemm_mma/instructions.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
/// Starts copying 16 bytes to shared memory, zeros unless `inside`. What is read `once` need not stay in L2. Only then there is a cache
/// policy: where the shared address is a sum of a register and a uniform one, CUDA 13.0's assembler puts a policy of no meaning beside it,
/// on which an H100 ends with an illegal instruction. Who reads `once` makes the
/// address differ by lane for the assembler (__shfl_sync); copy_async of products always has a policy, and no such address.
template <bool once>
HONE_DEVICE void copy_word(unsigned to, const void* from, bool inside) {
  if constexpr (once) {
    copy_async<8, true>(to, from, inside);
  } else {
    const int bytes = inside ? 16 : 0;
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
  }
}
#endif
