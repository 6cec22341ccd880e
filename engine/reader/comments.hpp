#pragma once
// What a kernel file says beside its code, for people.

#include <string>
#include <string_view>

#include "engine/reader/clang_unit.hpp"

namespace hone::kernel {

/// The comment that belongs to a cursor: behind it on its line (and continued below, at the same column), or above it.
std::string comment_of(const Unit& unit, CXCursor cursor);
/// The comment that a file begins with, as one paragraph.
std::string leading_comment(std::string_view text);

}  // namespace hone::kernel
