#include "hone/dtypes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace hone {

DTypes::DTypes(std::vector<NamedDType> all) : all_(std::move(all)) {
  if (all_.empty()) {
    throw std::invalid_argument("a problem has at least one dtype");
  }
}

std::string name(const DTypes& dtypes) {
  std::string joined;
  for (const auto& [parameter, dtype] : dtypes.all()) {
    joined += fmt::format("{}{}{}{}", joined.empty() ? "" : ",", parameter, parameter.empty() ? "" : "=", name(dtype));
  }
  return joined;
}

std::string type_arguments(const DTypes& dtypes) {
  std::string joined;
  for (const NamedDType& one : dtypes.all()) {
    joined += fmt::format("{}{}", joined.empty() ? "" : ", ", name(one.dtype));
  }
  return joined;
}

Result<DTypes> parse_dtypes(std::string_view text) {
  if (text.find('=') == std::string_view::npos) {
    HONE_ASSIGN(const DType only, parse_dtype(text));
    return DTypes(only);
  }
  std::vector<NamedDType> all;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("dtype: '{}' is not of the form name=type, e.g. In=e4m3,Out=bf16", part)};
    }
    HONE_ASSIGN(const DType dtype, parse_dtype(part.substr(equals + 1)));
    all.push_back({std::string(part.substr(0, equals)), dtype});
  }
  return DTypes(std::move(all));
}

}  // namespace hone
