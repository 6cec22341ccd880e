#pragma once
// cuBLASLt as an implementation of the operation matmul. A configuration is an algorithm of the library.

#include "plugins/cuda/library_kernel.hpp"

namespace hone::cuda {

const CudaLibraryKernel& cublaslt_matmul();

}  // namespace hone::cuda
