#pragma once
// Names for contents: sources, headers, compiled code.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace hone {

/// XXH3, 128 bits, as 32 hex digits. Names contents; it is no defence against someone who forges them.
std::string digest(std::span<const std::byte> bytes);
std::string digest(std::string_view text);

}  // namespace hone
