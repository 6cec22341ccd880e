#include "hone/dtype.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "hone/names.hpp"

namespace hone {
namespace {

struct Facts {
  DType dtype;
  std::string_view name;
  std::size_t size;
  double epsilon;
};
constexpr std::array kFacts{
    Facts{DType::kF32, "f32", 4, 0x1p-23}, Facts{DType::kF16, "f16", 2, 0x1p-10}, Facts{DType::kBF16, "bf16", 2, 0x1p-7},
    Facts{DType::kF64, "f64", 8, 0x1p-52}, Facts{DType::kI32, "i32", 4, 0.0},
};
constexpr std::array kAll{DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI32};

/// What other tools and languages call them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kElsewhere{{{"float", "f32"},
                                                                                   {"float32", "f32"},
                                                                                   {"single", "f32"},
                                                                                   {"half", "f16"},
                                                                                   {"float16", "f16"},
                                                                                   {"bfloat16", "bf16"},
                                                                                   {"double", "f64"},
                                                                                   {"float64", "f64"},
                                                                                   {"int32", "i32"}}};

const Facts& facts(DType dtype) { return kFacts.at(static_cast<std::size_t>(dtype)); }

}  // namespace

std::span<const DType> all_dtypes() { return kAll; }
std::string_view name(DType dtype) { return facts(dtype).name; }
std::size_t size_of(DType dtype) { return facts(dtype).size; }
double epsilon(DType dtype) { return facts(dtype).epsilon; }

Result<DType> parse_dtype(std::string_view text, std::span<const DType> meant) {
  std::vector<std::string> known;
  for (const Facts& candidate : kFacts) {
    if (candidate.name == text) {
      return candidate.dtype;
    }
    if (meant.empty() || std::ranges::find(meant, candidate.dtype) != meant.end()) {
      known.emplace_back(candidate.name);
    }
  }
  const auto elsewhere = std::ranges::find(kElsewhere, text, &std::pair<std::string_view, std::string_view>::first);
  const std::string alias = elsewhere == kElsewhere.end() ? "" : fmt::format("'{}' is '{}' here: ", text, elsewhere->second);
  return Error{ErrorCode::kInvalidArgument, alias + unknown_name("dtype", text, known)};
}

}  // namespace hone
