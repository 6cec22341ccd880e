#pragma once
// Compiles batches of configurations into shared objects.

#include <memory>

#include "engine/device/device.hpp"
#include "plugins/cpu/host_compiler.hpp"

namespace hone::cpu {

std::unique_ptr<Compiler> make_compiler(HostCompiler host, bool sanitized);

}  // namespace hone::cpu
