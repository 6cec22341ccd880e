// The fuzzed readers have no built-in kernels and no database servers.
#include "engine/kernel/builtin_kernels.hpp"
#include "engine/store/store_server.hpp"

namespace hone {

std::span<const EmbeddedKernel> embedded_kernels() { return {}; }
OpenServer store_server() { return nullptr; }

}  // namespace hone
