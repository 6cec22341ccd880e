#pragma once
// Parameters that a kernel's code knows as macros: OPTION("-DTILE={}"). The reader defines them with their defaults, and makes sure that
// what it reads (valid, launch, extents, ...) is the same whatever their values: only bodies may depend on them.

#include <string>
#include <vector>

#include "engine/kernel/kernel_spec.hpp"
#include "engine/reader/clang_unit.hpp"

namespace hone::kernel {

/// The definitions of a file's tuned macros at the parameters' defaults: "-DTILE=16". Empty for a file that has none.
/// Error, kBadKernel: a macro that would replace a name of Problem or Config.
Result<std::vector<std::string>> tuned_macros(const SourceFile& file, const std::vector<std::string>& arguments);

/// Definitions to read the file with once more, to see what depends on them: the first values, the last ones; without the defaults
/// themselves.
std::vector<std::vector<std::string>> other_macros(const KernelSpec& spec);

/// What two readings of a file differ in, for people ("the grid of kernel 'add'"); empty if it is nothing.
std::string difference(const KernelSpec& one, const KernelSpec& other);

}  // namespace hone::kernel
