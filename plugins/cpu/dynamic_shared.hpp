#pragma once
// `extern __shared__ float tile[];` of plain CUDA, for a host compiler.

#include <string>
#include <string_view>

namespace hone::cpu {

/// The text with each such declaration made one of a pointer to the block's dynamic shared memory. Lines stay where they are.
std::string with_dynamic_shared(std::string_view text);

}  // namespace hone::cpu
