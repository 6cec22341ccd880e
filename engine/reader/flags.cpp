#include "engine/reader/flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "engine/kernel/instantiation.hpp"
#include "engine/reader/plain_source.hpp"

namespace hone::kernel {
namespace {

namespace fs = std::filesystem;

Error bad(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

/// Words of a command line: white space parts them, quotes keep them together.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool open = false;
  char quote = '\0';
  for (const char c : text) {
    if (quote == '\0' && std::isspace(static_cast<unsigned char>(c)) != 0) {
      open = false;
      continue;
    }
    if (!open) {
      words.emplace_back();
      open = true;
    }
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else {
      words.back() += c;
    }
  }
  return words;
}

bool is_name(std::string_view name) {
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 && std::ranges::all_of(name, in_word);
}

Result<void> add_macro(char letter, const std::string& value, Flags& flags) {
  const std::string name = value.substr(0, value.find('='));
  if (!is_name(name)) {
    return bad(fmt::format("-{}{} does not name a macro: use -D NAME, -D NAME=VALUE or -U NAME", letter, value));
  }
  flags.others.push_back(fmt::format("-{}{}", letter, value));
  return {};
}

Result<void> add_folder(const std::string& value, const fs::path& base, Flags& flags) {
  std::error_code failed;
  const fs::path folder = fs::path(value).is_absolute() ? fs::path(value) : base / value;
  if (!fs::is_directory(folder, failed)) {
    return bad(fmt::format("-I {}: no such folder: {}", value, folder.lexically_normal().string()));
  }
  flags.include_dirs.push_back(folder.lexically_normal().string());
  return {};
}

Result<void> add_other(const std::string& word, Flags& flags) {
  // What Hone decides itself, by the device and by how it calls kernels.
  constexpr std::array<std::string_view, 8> kOwn{"-arch", "--gpu-architecture", "-std", "--std", "-G", "--device-debug", "-rdc", "-o"};
  const std::string_view name = std::string_view(word).substr(0, word.find('='));
  if (std::ranges::find(kOwn, name) != kOwn.end()) {
    return bad(fmt::format("{} cannot be given: Hone sets the target device, C++20 and no debug information", word));
  }
  flags.others.push_back(word);
  return {};
}

/// Where the text between the quotes of FLAGS("...") begins and ends, behind `at`; npos if there is none.
std::pair<std::size_t, std::size_t> find_text(std::string_view code, std::size_t at) {
  const auto skip = [&] {
    while (at < code.size() && std::isspace(static_cast<unsigned char>(code[at])) != 0) {
      ++at;
    }
  };
  at += std::string_view("FLAGS").size();
  skip();
  if (at >= code.size() || code[at] != '(') {
    return {std::string_view::npos, 0};
  }
  ++at;
  skip();
  if (at >= code.size() || code[at] != '"') {
    return {std::string_view::npos, 0};
  }
  return {at + 1, code.find('"', at + 1)};
}

}  // namespace

std::vector<std::string> Flags::for_reading() const {
  std::vector<std::string> arguments;
  for (const std::string& folder : include_dirs) {
    arguments.insert(arguments.end(), {"-I", folder});
  }
  std::ranges::copy_if(others, std::back_inserter(arguments), [](const std::string& flag) { return is_macro_option(flag); });
  return arguments;
}

Result<void> add_flags(const std::vector<std::string>& texts, const fs::path& base, Flags& flags) {
  std::vector<std::string> words;
  for (const std::string& text : texts) {
    const std::vector<std::string> more = words_of(text);
    words.insert(words.end(), more.begin(), more.end());
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool takes_value = word.starts_with("-I") || is_macro_option(word);
    if (!word.starts_with("-") || word == "-" || word == "--") {
      return bad(fmt::format("'{}' is not a compiler option: those begin with a dash", word));
    }
    if (takes_value && word.size() == 2 && i + 1 == words.size()) {
      return bad(fmt::format("{} needs a value", word));
    }
    const std::string value = !takes_value ? "" : word.size() == 2 ? words[++i] : word.substr(2);
    HONE_TRY(!takes_value ? add_other(word, flags) : word[1] == 'I' ? add_folder(value, base, flags) : add_macro(word[1], value, flags));
  }
  return {};
}

Result<void> add_flags_of_file(const SourceFile& file, Flags& flags) {
  constexpr std::string_view kMark = "FLAGS";
  if (file.text.find(kMark) == std::string::npos) {
    return {};
  }
  const std::string code = without_comments(file.text);
  for (std::size_t at = code.find(kMark); at != std::string::npos; at = code.find(kMark, at + 1)) {
    const auto [begin, end] = find_text(code, at);
    const bool word = at > 0 && (std::isalnum(static_cast<unsigned char>(code[at - 1])) != 0 || code[at - 1] == '_');
    if (word || begin == std::string::npos || end == std::string::npos) {
      continue;
    }
    if (const auto added = add_flags({code.substr(begin, end - begin)}, fs::path(file.path).parent_path(), flags); !added) {
      const auto line = static_cast<unsigned>(std::count(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(at), '\n')) + 1;
      return Error{ErrorCode::kBadKernel, diagnostic({file.path, line, 1}, added.error().message)};
    }
  }
  return {};
}

}  // namespace hone::kernel
