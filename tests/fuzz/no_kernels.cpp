// The fuzzed readers have no built-in kernels.
#include "engine/kernel/builtin_kernels.hpp"

namespace hone {

std::span<const EmbeddedKernel> embedded_kernels() { return {}; }

}  // namespace hone
