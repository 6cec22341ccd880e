#include "engine/reader/plain_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace hone::kernel {
namespace {

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

/// Walks over C++ text word by word.
class PlainReader {
 public:
  PlainReader(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  void skip_space() {
    while (at_ < text_.size() && is_blank(text_[at_])) {
      ++at_;
    }
  }
  [[nodiscard]] bool next_is(char c) {
    skip_space();
    return at_ < text_.size() && text_[at_] == c;
  }
  std::string_view word() {
    skip_space();
    const std::size_t begin = at_;
    while (at_ < text_.size() && in_word(text_[at_])) {
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }
  /// What stands between the bracket here and the one that closes it.
  std::string_view bracketed(char open, char close) {
    const std::size_t begin = ++at_;
    for (int depth = 1; at_ < text_.size(); ++at_) {
      depth += text_[at_] == open ? 1 : text_[at_] == close ? -1 : 0;
      if (depth == 0) {
        return text_.substr(begin, at_++ - begin);
      }
    }
    return text_.substr(begin);
  }

 private:
  std::string_view text_;
  std::size_t at_;
};

std::vector<std::string> split_list(std::string_view list) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : list) {
    depth += c == '(' || c == '<' || c == '[' ? 1 : c == ')' || c == '>' || c == ']' ? -1 : 0;
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  const bool empty = std::ranges::all_of(parts.back(), is_blank);
  if (parts.size() == 1 && empty) {
    parts.clear();
  }
  return parts;
}

PlainParameter read_plain_parameter(const std::string& text) {
  PlainParameter parameter;
  const std::string declaration = text.substr(0, text.find('='));
  parameter.pointer = declaration.find('*') != std::string::npos || declaration.find('[') != std::string::npos;
  std::vector<std::string> words;
  const std::string plain = declaration.substr(0, declaration.find('['));
  for (std::size_t at = 0; at < plain.size();) {
    if (!in_word(plain[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < plain.size() && in_word(plain[end])) {
      ++end;
    }
    words.push_back(plain.substr(at, end - at));
    at = end;
  }
  if (!words.empty()) {
    parameter.name = words.back();
    words.pop_back();
  }
  // `const` behind the star is the pointer's own.
  parameter.constant = declaration.substr(0, declaration.find('*')).find("const") != std::string::npos;
  std::erase_if(words, [](const std::string& word) {
    return word == "const" || word == "__restrict__" || word == "restrict" || word == "__restrict";
  });
  for (const std::string& word : words) {
    parameter.type += (parameter.type.empty() ? "" : " ") + word;
  }
  return parameter;
}

/// The type parameters of the template head that ends just before `at`, if there is one.
std::map<std::string, std::size_t, std::less<>> type_parameters_before(std::string_view text, std::size_t at) {
  std::map<std::string, std::size_t, std::less<>> names;
  const std::size_t stop = text.find_last_of(";}", at);
  const std::size_t begin = text.find("template", stop == std::string_view::npos ? 0 : stop);
  if (begin == std::string_view::npos || begin >= at) {
    return names;
  }
  PlainReader reader(text, begin + std::string_view("template").size());
  if (!reader.next_is('<')) {
    return names;
  }
  const std::vector<std::string> parts = split_list(reader.bracketed('<', '>'));
  for (std::size_t place = 0; place < parts.size(); ++place) {
    PlainReader parameter(parts[place], 0);
    if (const std::string_view kind = parameter.word(); kind == "typename" || kind == "class") {
      names.emplace(parameter.word(), place);
    }
  }
  return names;
}

// What a CUDA file includes out of habit and no compiler of Hone needs, or has: empty, or the little that they are included for.
constexpr std::string_view kIntegers =
    "typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long int64_t;\n"
    "typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned uint32_t; typedef unsigned long uint64_t;\n";
constexpr std::string_view kFloats =
    "#ifndef FLT_MAX\n#define FLT_MAX 3.402823466e+38F\n#define FLT_MIN 1.175494351e-38F\n#define FLT_EPSILON 1.192092896e-07F\n"
    "#define DBL_MAX 1.7976931348623158e+308\n#endif\n";
constexpr std::string_view kLimits =
    "#ifndef INT_MAX\n#define INT_MAX 2147483647\n#define INT_MIN (-INT_MAX - 1)\n#define UINT_MAX 4294967295U\n#endif\n";
constexpr std::array<std::pair<std::string_view, std::string_view>, 19> kHabitual{{
    {"cuda.h", ""},
    {"cuda_runtime.h", ""},
    {"cuda_runtime_api.h", ""},
    {"device_launch_parameters.h", ""},
    {"device_functions.h", ""},
    {"math.h", ""},
    {"cmath", ""},
    {"stdio.h", ""},
    {"cstdio", ""},
    {"stdlib.h", ""},
    {"cstdlib", ""},
    {"assert.h", "#define assert(condition) ((void)0)\n"},
    {"cassert", "#define assert(condition) ((void)0)\n"},
    {"stdint.h", kIntegers},
    {"cstdint", kIntegers},
    {"float.h", kFloats},
    {"cfloat", kFloats},
    {"limits.h", kLimits},
    {"climits", kLimits},
}};

/// `extern __shared__ float name[]` is memory of the launch under CUDA; on a host somebody has to define it.
std::string shared_definitions(std::string_view code) {
  constexpr std::string_view kShared = "__shared__";
  std::set<std::string> known;
  std::string made;
  for (std::size_t at = code.find("extern"); at != std::string_view::npos; at = code.find("extern", at + 1)) {
    PlainReader reader(code, at + 6);
    if (reader.word() != kShared) {
      continue;
    }
    const std::size_t begin = code.find(kShared, at) + kShared.size();
    const std::string_view declaration = code.substr(begin, code.find('[', begin) - begin);
    std::size_t last = declaration.find_last_not_of(" \t\n");
    std::size_t first = last;
    while (first != std::string_view::npos && first > 0 && in_word(declaration[first - 1])) {
      --first;
    }
    if (last == std::string_view::npos || !known.emplace(declaration.substr(first, last + 1 - first)).second) {
      continue;
    }
    const bool bytes = declaration.find("char") != std::string_view::npos || declaration.find("int8_t") != std::string_view::npos;
    made += fmt::format("__attribute__((aligned(128))) thread_local {} [{}];\n", declaration, bytes ? 262144 : 65536);
  }
  return made;
}

}  // namespace

std::string without_comments(std::string_view text) {
  std::string code(text);
  for (std::size_t at = 0; at + 1 < code.size(); ++at) {
    if (code[at] == '"' || code[at] == '\'') {
      const char quote = code[at];
      for (++at; at < code.size() && code[at] != quote && code[at] != '\n'; ++at) {
        at += code[at] == '\\' ? 1 : 0;
      }
      continue;
    }
    const bool line = code.compare(at, 2, "//") == 0, block = code.compare(at, 2, "/*") == 0;
    if (!line && !block) {
      continue;
    }
    const std::size_t found = line ? code.find('\n', at) : code.find("*/", at + 2);
    const std::size_t end = found == std::string::npos ? code.size() : found + (block ? 2 : 0);
    std::replace_if(
        code.begin() + static_cast<std::ptrdiff_t>(at), code.begin() + static_cast<std::ptrdiff_t>(end), [](char c) { return c != '\n'; },
        ' ');
  }
  return code;
}

std::vector<std::string> template_arguments(std::string_view call) {
  const std::size_t begin = call.find('<');
  if (begin == std::string_view::npos) {
    return {};
  }
  PlainReader reader(call, begin);
  std::vector<std::string> arguments = split_list(reader.bracketed('<', '>'));
  for (std::string& argument : arguments) {
    const std::size_t first = argument.find_first_not_of(" \t"), last = argument.find_last_not_of(" \t");
    argument = first == std::string::npos ? "" : argument.substr(first, last - first + 1);
  }
  return arguments;
}

std::vector<PlainFunction> find_plain_kernels(std::string_view text) {
  constexpr std::string_view kGlobal = "__global__";
  const std::string code = without_comments(text);
  std::vector<PlainFunction> functions;
  for (std::size_t at = code.find(kGlobal); at != std::string::npos; at = code.find(kGlobal, at + 1)) {
    PlainReader reader(code, at + kGlobal.size());
    PlainFunction function;
    for (std::string_view word = reader.word(); !word.empty(); word = reader.word()) {
      if (!reader.next_is('(')) {
        continue;
      }
      const std::string_view inside = reader.bracketed('(', ')');
      if (word == "__launch_bounds__" || word == "__cluster_dims__" || word == "__maxnreg__" || word == "__attribute__") {
        continue;
      }
      function.name = word;
      for (const std::string& parameter : split_list(inside)) {
        function.parameters.push_back(read_plain_parameter(parameter));
      }
      break;
    }
    const bool known = std::ranges::find(functions, function.name, &PlainFunction::name) != functions.end();
    if (!function.name.empty() && !known) {
      function.type_parameters = type_parameters_before(code, at);
      functions.push_back(std::move(function));
    }
  }
  return functions;
}

std::vector<std::string> included_headers(std::string_view text, char bracket) {
  const std::string code = without_comments(text);
  const char close = bracket == '<' ? '>' : bracket;
  std::vector<std::string> headers;
  for (std::size_t at = code.find('#'); at != std::string::npos; at = code.find('#', at + 1)) {
    PlainReader reader(code, at + 1);
    if (reader.word() != "include" || !reader.next_is(bracket)) {
      continue;
    }
    const std::size_t begin = code.find(bracket, at) + 1, end = code.find(close, begin);
    if (end != std::string::npos) {
      headers.push_back(code.substr(begin, end - begin));
    }
  }
  return headers;
}

std::vector<std::pair<std::string, std::string>> habitual_headers(const std::set<std::string>& wanted) {
  std::vector<std::pair<std::string, std::string>> headers;
  for (const auto& [name, text] : kHabitual) {
    if (wanted.contains(std::string(name))) {
      headers.emplace_back(name, fmt::format("#pragma once\n{}", text));
    }
  }
  return headers;
}

std::string plain_surroundings(const std::string& included, const std::set<std::string>& headers, std::string_view text) {
  std::string made =
      "#if !defined(HONE_READ)\n"
      "struct HonePointer {\n  void* address;\n  template <class U> HONE_DEVICE operator U*() const { return (U*)address; }\n};\n";
  for (const std::string& header : headers) {
    made += fmt::format("#include <{}>\n", header);
  }
  made +=
      "#pragma push_macro(\"__global__\")\n#undef __global__\n"
      "#if defined(__CUDACC__)\n#define __global__ __device__\n"
      "#pragma push_macro(\"__launch_bounds__\")\n#undef __launch_bounds__\n#define __launch_bounds__(...)\n"
      "#else\n#define __global__\n"
      "#pragma push_macro(\"__shared__\")\n#undef __shared__\n#define __shared__ thread_local\n#endif\n";
  made += fmt::format("namespace hone_plain {{\n#include \"{}\"\n#if !defined(__CUDACC__)\n{}#endif\n}}\n", included,
                      shared_definitions(without_comments(text)));
  made +=
      "#pragma pop_macro(\"__global__\")\n"
      "#if defined(__CUDACC__)\n#pragma pop_macro(\"__launch_bounds__\")\n#else\n#pragma pop_macro(\"__shared__\")\n#endif\n"
      "#endif\n";
  return made;
}

}  // namespace hone::kernel
