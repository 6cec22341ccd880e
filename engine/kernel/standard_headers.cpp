#include "engine/kernel/standard_headers.hpp"

#include <algorithm>
#include <array>

namespace hone {
namespace {

constexpr std::string_view kStandard = "#pragma once\n#include <hone/standard.h>\n";
constexpr std::string_view kNothing = "#pragma once\n#include <hone/kernel.h>\n";

struct Header {
  std::string_view name, text;
  bool cuda = false;  ///< the toolkit has it
};
constexpr std::array<Header, 36> kHeaders{{
    {"cstdint", kStandard},
    {"cstddef", kStandard},
    {"cfloat", kStandard},
    {"climits", kStandard},
    {"cmath", kStandard},
    {"limits", kStandard},
    {"type_traits", kStandard},
    {"utility", kStandard},
    {"array", kStandard},
    {"algorithm", kStandard},
    {"stdint.h", kNothing},
    {"stddef.h", kNothing},
    {"inttypes.h", kNothing},
    {"stdbool.h", kNothing},
    {"float.h", kNothing},
    {"limits.h", kNothing},
    {"math.h", kNothing},
    {"assert.h", kNothing},
    {"cassert", kNothing},
    {"stdio.h", kNothing},
    {"cstdio", kNothing},
    {"stdlib.h", kNothing},
    {"cstdlib", kNothing},
    {"string.h", kNothing},
    {"cstring", kNothing},
    {"cuda.h", kNothing, true},
    {"cuda_runtime.h", kNothing, true},
    {"cuda_runtime_api.h", kNothing, true},
    {"cuda_device_runtime_api.h", kNothing, true},
    {"device_launch_parameters.h", kNothing, true},
    {"device_functions.h", kNothing, true},
    {"math_constants.h", kNothing, true},
    {"math_functions.h", kNothing, true},
    {"vector_types.h", kNothing, true},
    {"vector_functions.h", kNothing, true},
    {"builtin_types.h", kNothing, true},
}};

void add_headers(std::string_view text, bool toolkit, std::vector<std::pair<std::string, std::string>>& headers) {
  constexpr std::string_view kInclude = "include";
  for (std::size_t at = text.find(kInclude); at != std::string_view::npos; at = text.find(kInclude, at + 1)) {
    std::string_view rest = text.substr(at + kInclude.size(), 80);
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    if (rest.empty() || (rest[0] != '<' && rest[0] != '"')) {
      continue;
    }
    const std::string_view name = rest.substr(1, rest.find(rest[0] == '<' ? '>' : '"', 1) - 1);
    const auto* const found = std::ranges::find(kHeaders, name, &Header::name);
    const bool known = std::ranges::any_of(headers, [&](const auto& header) { return header.first == name; });
    if (found != kHeaders.end() && !known && !(found->cuda && toolkit)) {
      headers.emplace_back(found->name, found->text);
    }
  }
}

}  // namespace

bool is_cuda_header(std::string_view name) {
  constexpr std::array<std::string_view, 11> kFolders{
      "cub/", "cuda/", "thrust/", "nv/", "cute/", "cccl/", "cutlass/", "crt/", "libcxx/", "cooperative_groups/", "cutlass_extensions/"};
  constexpr std::array<std::string_view, 10> kFiles{
      "cooperative_groups.h", "mma.h",    "cuda_fp8.h",  "cuda_fp6.h",       "cuda_fp4.h",
      "curand_kernel.h",      "curand.h", "cuComplex.h", "cuda_awbarrier.h", "cuda_awbarrier_primitives.h"};
  return std::ranges::any_of(kFolders, [&](std::string_view folder) { return name.starts_with(folder); }) ||
         std::ranges::find(kFiles, name) != kFiles.end();
}

std::vector<std::pair<std::string_view, std::string_view>> standard_headers() {
  std::vector<std::pair<std::string_view, std::string_view>> headers;
  for (const Header& header : kHeaders) {
    headers.emplace_back(header.name, header.text);
  }
  return headers;
}

std::vector<std::pair<std::string, std::string>> standard_headers(const KernelSpec& spec, bool toolkit) {
  std::vector<std::pair<std::string, std::string>> headers;
  add_headers(spec.source, toolkit, headers);
  for (const auto& [name, text] : spec.includes) {
    add_headers(text, toolkit, headers);
  }
  std::erase_if(headers, [&](const auto& header) {  // what the file brings along itself
    return std::ranges::any_of(spec.includes, [&](const auto& own) { return own.first == header.first; });
  });
  return headers;
}

}  // namespace hone
