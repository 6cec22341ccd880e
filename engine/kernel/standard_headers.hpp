#pragma once
// Headers that a kernel file includes and that are not its own: C++'s, which Hone has for all readers, and those of CUDA.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/kernel/kernel_spec.hpp"

namespace hone {

/// Whether `name` ("cub/cub.cuh") is a header that only CUDA's compiler can read: of the toolkit, of CCCL, or of CUTLASS.
bool is_cuda_header(std::string_view name);

/// Texts for the headers of C, C++ and CUDA's host side that some files include out of habit ("cstdint", "math.h", "cuda_runtime.h"), by
/// name. `toolkit`: the compiler has CUDA's own headers, so that only C's and C++'s are needed.
std::vector<std::pair<std::string, std::string>> standard_headers(const KernelSpec& spec, bool toolkit);

/// All of them.
std::vector<std::pair<std::string_view, std::string_view>> standard_headers();

}  // namespace hone
