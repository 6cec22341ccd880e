#pragma once
// What of a source text a compiler sees.

#include <string>
#include <string_view>

namespace hone::kernel {

/// Whether what the text means may depend on its layout: it asks for line numbers, or defines a macro that quotes its argument.
bool shows_layout(std::string_view source);

/// The text without its comments, and with white space only where it keeps tokens or directives apart: equal for two texts that differ in
/// comments and layout, different wherever a token differs. Not for texts of a program in which one shows its layout.
std::string code_text(std::string_view source);

}  // namespace hone::kernel
