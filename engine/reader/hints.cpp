#include "engine/reader/hints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>

#include "engine/base/names.hpp"

namespace hone::kernel {
namespace {

const std::vector<std::string>& marks() {
  static const std::vector<std::string> all{"TUNE",      "OPTION",           "IN",     "OUT",     "INOUT",      "OUT_ZEROED",
                                            "WORKSPACE", "WORKSPACE_ZEROED", "SCALAR", "KERNEL",  "TENSOR_MAP", "LAUNCH_BOUNDS",
                                            "REFERENCE", "DTYPES",           "STATIC", "CONSTANT"};
  return all;
}

std::string_view line_of(std::string_view text, unsigned line) {
  for (; line > 1 && !text.empty(); --line) {
    text.remove_prefix(std::min(text.size(), text.find('\n', 0) + 1));
  }
  const std::string_view whole = text.substr(0, text.find('\n'));
  return whole.substr(0, whole.find("//"));
}

/// Words in capitals that are no mark, but nearly one.
void add_misspelt(const SourceFile& file, unsigned line, std::vector<std::string>& found) {
  const std::string_view text = line_of(file.text, line);
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (auto begin = text.begin(); begin != text.end();) {
    begin = std::find_if(begin, text.end(), in_word);
    const auto end = std::find_if_not(begin, text.end(), in_word);
    const std::string word(begin, end);
    const bool capitals =
        word.size() > 1 && std::ranges::none_of(word, [](char c) { return std::islower(static_cast<unsigned char>(c)) != 0; });
    const bool known = std::ranges::find(marks(), word) != marks().end() || file.text.find("define " + word) != std::string::npos;
    const std::string message = capitals && !known ? unknown_name("mark", word, marks()) : "";
    if (message.find("did you mean") != std::string::npos) {
      found.push_back(diagnostic({file.path, line, static_cast<unsigned>(begin - text.begin()) + 1}, message));
    }
    begin = end;
  }
}

}  // namespace

std::vector<std::string> hints(const SourceFile& file, const std::vector<std::string>& errors) {
  std::vector<std::string> found;
  if (file.text.find("hone/kernel.h") == std::string::npos) {
    found.push_back(
        diagnostic({file.path, 1, 1},
                   "the file does not include <hone/kernel.h>, which defines TUNE, KERNEL, Launch and the other names of a kernel file"));
    return found;
  }
  std::set<unsigned> lines;
  for (const std::string& error : errors) {
    const unsigned line = error.starts_with(file.path + ":") ? static_cast<unsigned>(std::atoi(error.c_str() + file.path.size() + 1)) : 0;
    if (line > 0 && lines.insert(line).second) {
      add_misspelt(file, line, found);
    }
  }
  return found;
}

}  // namespace hone::kernel
