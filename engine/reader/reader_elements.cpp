// What C++ types mean to Hone: the dtype of an element or a scalar, and the lanes of small vectors.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <type_traits>

#include "engine/reader/reader.hpp"

namespace hone::kernel {
namespace {

struct ElementName {
  std::string_view cpp;
  DType dtype;
};
/// As clang spells canonical types. `char` is what the host has it as, and NVRTC and nvcc with it.
constexpr std::array kElements{
    ElementName{"float", DType::kF32},      ElementName{"double", DType::kF64},
    ElementName{"f16", DType::kF16},        ElementName{"__half", DType::kF16},
    ElementName{"bf16", DType::kBF16},      ElementName{"__nv_bfloat16", DType::kBF16},
    ElementName{"e4m3", DType::kE4M3},      ElementName{"__nv_fp8_e4m3", DType::kE4M3},
    ElementName{"e5m2", DType::kE5M2},      ElementName{"__nv_fp8_e5m2", DType::kE5M2},
    ElementName{"i4x2", DType::kI4x2},      ElementName{"u4x2", DType::kU4x2},
    ElementName{"bool", DType::kBool},      ElementName{"char", std::is_signed_v<char> ? DType::kI8 : DType::kU8},
    ElementName{"signed char", DType::kI8}, ElementName{"unsigned char", DType::kU8},
    ElementName{"short", DType::kI16},      ElementName{"unsigned short", DType::kU16},
    ElementName{"int", DType::kI32},        ElementName{"unsigned int", DType::kU32},
    ElementName{"long", DType::kI64},       ElementName{"unsigned long", DType::kU64},
    ElementName{"long long", DType::kI64},  ElementName{"unsigned long long", DType::kU64},
};

/// CUDA's vectors: these names and a number of lanes.
constexpr std::array kVectors{
    ElementName{"char", DType::kI8},       ElementName{"uchar", DType::kU8},  ElementName{"short", DType::kI16},
    ElementName{"ushort", DType::kU16},    ElementName{"int", DType::kI32},   ElementName{"uint", DType::kU32},
    ElementName{"long", DType::kI64},      ElementName{"ulong", DType::kU64}, ElementName{"longlong", DType::kI64},
    ElementName{"ulonglong", DType::kU64}, ElementName{"float", DType::kF32}, ElementName{"double", DType::kF64},
};

template <std::size_t n>
std::optional<DType> find(const std::array<ElementName, n>& names, std::string_view cpp) {
  const auto* const found = std::ranges::find(names, cpp, &ElementName::cpp);
  return found == names.end() ? std::nullopt : std::optional<DType>(found->dtype);
}

std::optional<int> number(std::string_view digits) {
  int value = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return status == std::errc() && end == digits.data() + digits.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<Element> element_of(std::string_view cpp, std::size_t type_parameters) {
  constexpr std::string_view kParameter = "type-parameter-0-", kVector = "Vector<";
  if (cpp.starts_with(kParameter)) {
    const auto index = number(cpp.substr(kParameter.size()));
    return index && static_cast<std::size_t>(*index) < type_parameters ? std::optional(Element{.type_parameter = *index}) : std::nullopt;
  }
  if (const auto dtype = find(kElements, cpp)) {
    return Element{.dtype = *dtype};
  }
  if (cpp.starts_with(kVector) && cpp.ends_with('>')) {  // Vector<type-parameter-0-0, 4>
    const std::string_view inside = cpp.substr(kVector.size(), cpp.size() - kVector.size() - 1);
    const std::size_t comma = inside.rfind(", ");
    const auto lanes = comma == std::string_view::npos ? std::nullopt : number(inside.substr(comma + 2));
    auto element = lanes && *lanes > 0 ? element_of(inside.substr(0, comma), type_parameters) : std::nullopt;
    if (!element || element->lanes != 1) {
      return std::nullopt;
    }
    element->lanes = *lanes;
    return element;
  }
  const auto lanes = cpp.empty() ? std::nullopt : number(cpp.substr(cpp.size() - 1));
  const auto dtype = lanes && *lanes >= 1 && *lanes <= 4 ? find(kVectors, cpp.substr(0, cpp.size() - 1)) : std::nullopt;
  return dtype ? std::optional(Element{.dtype = *dtype, .lanes = *lanes}) : std::nullopt;
}

std::optional<Element> KernelReader::element_of_type(CXType type, const Shape& shape) const {
  return element_of(unit_.type_name(unit_.clang().getCanonicalType(type)), shape.scope.types.size());
}

std::string KernelReader::known_elements(const Shape& shape) {
  std::string known;
  for (const std::string& type : shape.scope.types) {
    known += type + ", ";
  }
  for (const DType dtype : all_dtypes()) {
    known += fmt::format("{}, ", name(dtype));
  }
  return known + "or a CUDA vector of them (float4) or a Vector<..., N> with a constant N";
}

void KernelReader::read_element(CXCursor parameter, const Shape& shape, Argument& argument) const {
  const CXType pointee = unit_.clang().getPointeeType(unit_.type(parameter));
  const auto element = element_of_type(pointee, shape);
  if (!element) {
    unit_.fail(parameter, fmt::format("argument '{}' points to '{}'; an element is {}", argument.name,
                                      unit_.type_name(unit_.clang().getCanonicalType(pointee)), known_elements(shape)));
  }
  element->apply(argument);
}

void KernelReader::read_scalar_type(CXCursor parameter, const Shape& shape, Argument& argument) const {
  argument.direction = Direction::kScalar;
  CXType type = unit_.clang().getCanonicalType(unit_.type(parameter));
  if (type.kind == CXType_Enum) {
    argument.enumeration = unit_.type_name(unit_.type(parameter));
    type = unit_.clang().getCanonicalType(unit_.clang().getEnumDeclIntegerType(unit_.clang().getTypeDeclaration(type)));
  }
  const auto element = element_of_type(type, shape);
  if (!element || element->lanes != 1) {
    unit_.fail(parameter, fmt::format("parameter '{}' is of type '{}'; a kernel takes pointers, SCALAR(default) numbers (of a dtype or an "
                                      "enumeration) and the Problem",
                                      argument.name, unit_.type_name(unit_.type(parameter))));
  }
  element->apply(argument);
}

void KernelReader::read_scalar(CXCursor parameter, const std::vector<Mark>& marks, const Shape& shape, Argument& argument) {
  read_scalar_type(parameter, shape, argument);
  const Mark* scalar = find_mark(marks, "scalar");
  if (scalar == nullptr) {
    const std::string other = marks.empty() ? "" : ", but its mark is for pointers";
    unit_.fail(parameter, fmt::format("parameter '{}' is a number: it needs SCALAR(default){}", argument.name, other));
  }
  const bool whole = !argument.element_is_t && is_integer(argument.dtype);
  const std::size_t id = texts_.add_constant(*scalar, fmt::format("the default of '{}'", argument.name));
  later_.emplace_back([this, id, whole, name = argument.name] {
    const auto found = std::find_if(spec_.arguments.begin(), spec_.arguments.end(), [&](const Argument& a) { return a.name == name; });
    const Value value = texts_.constant(id);
    found->scalar_default = whole ? Value(value.integer()) : Value(value.real());
  });
}

}  // namespace hone::kernel
