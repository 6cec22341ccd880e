#pragma once
// Help for people who mistype a name.

#include <span>
#include <string>
#include <string_view>

namespace hone {

/// "'sofmax' is unknown; did you mean 'softmax'? Known: copy, gemm, ..." for a `what` such as "kernel".
std::string unknown_name(std::string_view what, std::string_view given, std::span<const std::string> known);

}  // namespace hone
