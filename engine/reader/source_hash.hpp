#pragma once
// What identifies a kernel's text: records and compiled code belong to it.

#include <optional>
#include <string>

#include "engine/kernel/kernel_spec.hpp"
#include "engine/reader/clang_unit.hpp"

namespace hone::kernel {

/// A digest of the tokens of the file, of the user's headers and of Hone's headers that it includes, and of the flags. Comments and layout
/// do not count, unless the text can observe its layout (`__LINE__`, a macro that quotes its argument). Hone's own headers never do. The
/// body of `likely` does not count either.
std::string source_hash(const KernelSpec& whole, const Unit& unit, const std::optional<CXCursor>& likely);

}  // namespace hone::kernel
