#pragma once
// CUDA's headers of half-precision types, as far as kernels use them often: for files that include them, on a machine without CUDA.

#include <span>

#include "engine/kernel/kernel_headers.hpp"

namespace hone::cpu {

/// cuda_fp16.h and cuda_bf16.h. They need <hone/kernel.h> before them.
std::span<const KernelHeader> cuda_headers();

}  // namespace hone::cpu
