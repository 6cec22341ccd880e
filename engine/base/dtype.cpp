#include "hone/dtype.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/names.hpp"

namespace hone {
namespace {

struct Facts {
  DType dtype;
  std::string_view name;
  std::size_t size;
  double epsilon;  ///< 0: an integer
  Range range;
  double subnormal_step = 0.0;
};
constexpr Range symmetric(double most) { return {-most, most}; }
constexpr std::array kFacts{
    Facts{DType::kF32, "f32", 4, 0x1p-23, symmetric(0x1.fffffep127), 0x1p-149},
    Facts{DType::kF16, "f16", 2, 0x1p-10, symmetric(65504.0), 0x1p-24},
    Facts{DType::kBF16, "bf16", 2, 0x1p-7, symmetric(0x1.fep127), 0x1p-133},
    Facts{DType::kF64, "f64", 8, 0x1p-52, symmetric(0x1.fffffffffffffp1023), 0x1p-1074},
    Facts{DType::kI32, "i32", 4, 0.0, {-0x1p31, 0x1p31 - 1.0}},
    Facts{DType::kI8, "i8", 1, 0.0, {-128.0, 127.0}},
    Facts{DType::kU8, "u8", 1, 0.0, {0.0, 255.0}},
    Facts{DType::kI16, "i16", 2, 0.0, {-32768.0, 32767.0}},
    Facts{DType::kU16, "u16", 2, 0.0, {0.0, 65535.0}},
    Facts{DType::kU32, "u32", 4, 0.0, {0.0, 0x1p32 - 1.0}},
    Facts{DType::kI64, "i64", 8, 0.0, {-0x1p63, 0x1p63}},
    Facts{DType::kU64, "u64", 8, 0.0, {0.0, 0x1p64}},
    Facts{DType::kBool, "bool", 1, 0.0, {0.0, 1.0}},
    Facts{DType::kE4M3, "e4m3", 1, 0x1p-3, symmetric(448.0), 0x1p-9},
    Facts{DType::kE5M2, "e5m2", 1, 0x1p-2, symmetric(57344.0), 0x1p-16},
    Facts{DType::kI4x2, "i4x2", 1, 0.0, {0.0, 255.0}},
    Facts{DType::kU4x2, "u4x2", 1, 0.0, {0.0, 255.0}},
};
constexpr auto kAll = [] {
  std::array<DType, kFacts.size()> all{};
  for (std::size_t i = 0; i < kFacts.size(); ++i) {
    all.at(i) = kFacts.at(i).dtype;
  }
  return all;
}();

/// What other tools and languages call them.
using Alias = std::pair<std::string_view, std::string_view>;
constexpr std::array kElsewhere{
    Alias{"float", "f32"},        Alias{"float32", "f32"},        Alias{"single", "f32"},    Alias{"half", "f16"},
    Alias{"float16", "f16"},      Alias{"bfloat16", "bf16"},      Alias{"double", "f64"},    Alias{"float64", "f64"},
    Alias{"int", "i32"},          Alias{"int32", "i32"},          Alias{"int8", "i8"},       Alias{"uint8", "u8"},
    Alias{"byte", "u8"},          Alias{"int16", "i16"},          Alias{"uint16", "u16"},    Alias{"uint32", "u32"},
    Alias{"int64", "i64"},        Alias{"long", "i64"},           Alias{"uint64", "u64"},    Alias{"boolean", "bool"},
    Alias{"fp8", "e4m3"},         Alias{"float8_e4m3fn", "e4m3"}, Alias{"fp8_e4m3", "e4m3"}, Alias{"f8e4m3", "e4m3"},
    Alias{"float8_e5m2", "e5m2"}, Alias{"fp8_e5m2", "e5m2"},      Alias{"f8e5m2", "e5m2"},   Alias{"int4", "i4x2"},
    Alias{"uint4", "u4x2"}};

const Facts& facts(DType dtype) { return kFacts.at(static_cast<std::size_t>(dtype)); }

}  // namespace

std::span<const DType> all_dtypes() { return kAll; }
std::string_view name(DType dtype) { return facts(dtype).name; }
std::size_t size_of(DType dtype) { return facts(dtype).size; }
double epsilon(DType dtype) { return facts(dtype).epsilon; }
bool is_integer(DType dtype) { return facts(dtype).epsilon == 0.0; }
Range range_of(DType dtype) { return facts(dtype).range; }
bool has_narrow_range(DType dtype) { return dtype == DType::kF16 || dtype == DType::kE4M3 || dtype == DType::kE5M2; }
double subnormal_step(DType dtype) { return facts(dtype).subnormal_step; }

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
  const auto elsewhere = std::ranges::find(kElsewhere, text, &Alias::first);
  const std::string alias = elsewhere == kElsewhere.end() ? "" : fmt::format("'{}' is '{}' here: ", text, elsewhere->second);
  return Error{ErrorCode::kInvalidArgument, alias + unknown_name("dtype", text, known)};
}

}  // namespace hone
