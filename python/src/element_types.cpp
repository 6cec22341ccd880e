#include "python/src/element_types.hpp"

#include <cstdlib>

namespace hone::python {
namespace {

std::optional<DType> integer_of(bool is_signed, int bits) {
  switch (bits) {
    case 8:
      return is_signed ? DType::kI8 : DType::kU8;
    case 16:
      return is_signed ? DType::kI16 : DType::kU16;
    case 32:
      return is_signed ? DType::kI32 : DType::kU32;
    case 64:
      return is_signed ? DType::kI64 : DType::kU64;
    default:
      return {};
  }
}

std::optional<DType> float_of(int bits) {
  return bits == 32   ? std::optional(DType::kF32)
         : bits == 16 ? std::optional(DType::kF16)
         : bits == 64 ? std::optional(DType::kF64)
                      : std::nullopt;
}

}  // namespace

std::optional<DType> dtype_of(const dlpack::DataType& type) {
  if (type.lanes != 1) {
    return {};
  }
  switch (type.code) {
    case dlpack::kInt:
      return integer_of(true, type.bits);
    case dlpack::kUInt:
      return integer_of(false, type.bits);
    case dlpack::kFloat:
      return float_of(type.bits);
    case dlpack::kBfloat:
      return DType::kBF16;
    case dlpack::kBool:
      return DType::kBool;
    case dlpack::kFloat8E4M3FN:
      return DType::kE4M3;
    case dlpack::kFloat8E5M2:
      return DType::kE5M2;
    default:
      return {};
  }
}

std::optional<DType> dtype_of(char kind, std::size_t bytes) {
  const int bits = static_cast<int>(8 * bytes);
  constexpr std::string_view kSigned = "bhilqn", kUnsigned = "BHILQN", kFloats = "efd";
  if (kind == '?') {
    return DType::kBool;
  }
  return kSigned.find(kind) != std::string_view::npos     ? integer_of(true, bits)
         : kUnsigned.find(kind) != std::string_view::npos ? integer_of(false, bits)
         : kFloats.find(kind) != std::string_view::npos   ? float_of(bits)
                                                          : std::nullopt;
}

std::optional<DType> dtype_of_typestr(std::string_view text) {
  if (text.size() < 3) {
    return {};
  }
  const std::size_t bytes = std::strtoul(text.data() + 2, nullptr, 10);
  switch (text[1]) {
    case 'f':
      return float_of(static_cast<int>(8 * bytes));
    case 'i':
      return integer_of(true, static_cast<int>(8 * bytes));
    case 'u':
      return integer_of(false, static_cast<int>(8 * bytes));
    case 'b':
      return DType::kBool;
    default:
      return {};
  }
}

}  // namespace hone::python
