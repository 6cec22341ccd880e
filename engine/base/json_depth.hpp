#pragma once
// How deeply a JSON text is nested, before it is parsed: nlohmann's parser needs no stack for it, but copying, comparing and printing do.

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace hone {

/// More than any format that Hone reads has: those have eight at most.
inline constexpr std::size_t kDeepestJson = 100;

/// Calls visit(i, c) for each bracket c of `text` that is not in a string. The text may be cut off or no JSON at all.
template <class Visit>
void each_json_bracket(std::string_view text, const Visit& visit) {
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      i += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[' || c == '}' || c == ']') {
      visit(i, c);
    }
  }
}

/// The levels of arrays and objects.
inline std::size_t json_depth(std::string_view text) {
  std::size_t depth = 0, deepest = 0;
  each_json_bracket(text, [&](std::size_t, char c) {
    if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (depth > 0) {
      --depth;
    }
  });
  return deepest;
}

}  // namespace hone
