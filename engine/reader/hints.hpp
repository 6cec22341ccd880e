#pragma once
// What clang cannot say of a kernel file it rejects, since it does not know the marks.

#include <string>
#include <vector>

#include "engine/reader/clang_unit.hpp"

namespace hone::kernel {

/// Diagnostics to put before clang's `errors`: a header that is not included, marks that are misspelt.
std::vector<std::string> hints(const SourceFile& file, const std::vector<std::string>& errors);

}  // namespace hone::kernel
