#pragma once
// UTF-8, one character at a time.

#include <cstddef>
#include <string_view>

namespace hone::cli {

/// A character and the bytes it takes. What is no UTF-8 is one byte of U+FFFD.
struct Character {
  static constexpr char32_t kReplacement = 0xFFFD;
  char32_t point = kReplacement;
  std::size_t bytes = 1;
  bool valid = false;
};

/// The first character of a text that is not empty.
Character first_character(std::string_view text);

}  // namespace hone::cli
