#include "engine/reader/source_hash.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "engine/base/digest.hpp"
#include "engine/kernel/kernel_headers.hpp"
#include "engine/reader/code_text.hpp"

namespace hone::kernel {
namespace {

/// The headers of Hone's that the file includes, except for kernel.h, which every file includes, and its parts for a single reader.
std::string hone_includes(const Unit& unit) {
  std::string texts;
  for (const KernelHeader& header : kernel_headers()) {
    const bool part = header.name == "hone/kernel.h" || header.name == "hone/kernel_read.h" || header.name == "hone/kernel_cpu.h";
    const auto names_it = [&](CXCursor child) {
      return unit.kind(child) == CXCursor_InclusionDirective && unit.spelling(child) == header.name;
    };
    const std::vector<CXCursor>& all = unit.top_level();
    if (!part && std::any_of(all.begin(), all.end(), names_it)) {
      texts += std::string(header.name) + '\0' + code_text(header.text) + '\0';
    }
  }
  return texts;
}

/// Whether some code names `word`. An attribute, [[likely]], does not.
bool names(std::string_view code, std::string_view word) {
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (auto at = code.find(word); at != std::string_view::npos; at = code.find(word, at + 1)) {
    const std::string_view before = code.substr(0, at), after = code.substr(at + word.size());
    const bool whole = (before.empty() || !in_word(before.back())) && (after.empty() || !in_word(after.front()));
    if (whole && !(before.ends_with("[[") && after.starts_with("]]"))) {
      return true;
    }
  }
  return false;
}

/// The spec without the text of `likely`, which only orders a search: a change there keeps records. If anything else names it, or a macro
/// writes it, its text counts as all other text does.
KernelSpec without_expectations(const KernelSpec& spec, const Unit& unit, const std::optional<CXCursor>& likely) {
  if (!likely) {
    return spec;
  }
  KernelSpec rest = spec;
  std::vector<std::string*> texts{&rest.source};
  for (auto& include : rest.includes) {
    texts.push_back(&include.second);
  }
  const auto own = std::ranges::find_if(texts, [&](const std::string* text) { return *text == unit.file_text(*likely); });
  const std::size_t begin = unit.offset(*likely), end = unit.end_offset(*likely);
  if (own == texts.end() || begin >= end || end > (*own)->size() || (**own)[end - 1] != '}') {
    return spec;
  }
  (*own)->replace(begin, end - begin, " ");
  const bool named = std::ranges::any_of(texts, [](const std::string* text) { return names(code_text(*text), "likely"); });
  return named ? spec : rest;
}

}  // namespace

std::string source_hash(const KernelSpec& whole, const Unit& unit, const std::optional<CXCursor>& likely) {
  const bool as_it_stands = shows_layout(whole.source) || std::any_of(whole.includes.begin(), whole.includes.end(),
                                                                      [](const auto& include) { return shows_layout(include.second); });
  const KernelSpec spec = as_it_stands ? whole : without_expectations(whole, unit, likely);
  const auto significant = [&](const std::string& text) { return as_it_stands ? text : code_text(text); };
  std::string all = significant(spec.source) + '\0';
  for (const auto& [name, text] : spec.includes) {
    all += name + '\0' + significant(text) + '\0';
  }
  for (const std::string& flag : spec.flags) {
    all += flag + '\0';
  }
  return digest(all + hone_includes(unit) + code_text(kernel_header("hone/kernel.h")));
}

}  // namespace hone::kernel
