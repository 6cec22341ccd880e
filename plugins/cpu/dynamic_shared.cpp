#include "plugins/cpu/dynamic_shared.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

namespace hone::cpu {

std::string with_dynamic_shared(std::string_view text) {
  std::string result(text);
  if (text.find("extern") == std::string_view::npos || text.find("__shared__") == std::string_view::npos) {
    return result;
  }
  // extern __shared__ [__align__(16) | alignas(16)] TYPE NAME [ ] ;
  static const std::regex declaration(
      R"(extern\s+__shared__\s+((?:__align__|alignas)\s*\([^)]*\)\s*)?([A-Za-z_][A-Za-z0-9_:<>, ]*?)\s+([A-Za-z_][A-Za-z0-9_]*)\s*\[\s*\]\s*;)");
  std::smatch found;
  std::string made;
  while (std::regex_search(result, found, declaration)) {
    const std::string whole = found[0];
    made += found.prefix();
    made += fmt::format("{0}* {1} = static_cast<{0}*>(hone_dynamic_shared());", found[2].str(), found[3].str());
    made.append(static_cast<std::size_t>(std::count(whole.begin(), whole.end(), '\n')), '\n');
    result = found.suffix();
  }
  return made + result;
}

}  // namespace hone::cpu
