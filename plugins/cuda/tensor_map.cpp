#include "plugins/cuda/tensor_map.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

namespace hone::cuda {
namespace {

/// CUtensorMapDataType
int element_code(DType dtype) {
  switch (dtype) {
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
    case DType::kE4M3:
    case DType::kE5M2:
    case DType::kI4x2:
    case DType::kU4x2:
      return 0;  // bytes, whatever they mean
    case DType::kI16:
    case DType::kU16:
      return 1;
    case DType::kU32:
      return 2;
    case DType::kI32:
      return 3;
    case DType::kU64:
      return 4;
    case DType::kI64:
      return 5;
    case DType::kF16:
      return 6;
    case DType::kF32:
      return 7;
    case DType::kF64:
      return 8;
    case DType::kBF16:
      break;
  }
  return 9;
}

/// CUtensorMapSwizzle and CUtensorMapL2promotion number the powers of two: 0, `first`, 2 * `first`, ... are 0, 1, 2, ...
int code_of(std::int64_t bytes, std::int64_t first) {
  return bytes == 0 ? 0 : std::countr_zero(static_cast<std::uint64_t>(bytes / first)) + 1;
}

}  // namespace

TensorMapEncoding::TensorMapEncoding(const TensorMap& map)
    : argument_(map.argument),
      element_(element_code(map.element)),
      swizzle_(code_of(map.swizzle, 32)),
      l2_(code_of(map.l2, 64)),
      axes_(static_cast<std::uint32_t>(map.axes)),
      offset_bytes_(map.offset_bytes) {
  for (std::size_t axis = 0; axis < map.axes; ++axis) {
    size_[axis] = static_cast<std::uint64_t>(map.size[axis]);
    box_[axis] = static_cast<std::uint32_t>(map.box[axis]);
    if (axis > 0) {
      stride_bytes_[axis - 1] = static_cast<std::uint64_t>(map.stride_bytes[axis]);
    }
  }
}

Status TensorMapEncoding::encode(const DriverApi& api, void* base, EncodedTensorMap& into) const {
  if (axes_ == 0) {
    std::memset(&into, 0, sizeof into);
    return status::kSuccess;
  }
  constexpr std::array<std::uint32_t, TensorMap::kMostAxes> kElementStrides{1, 1, 1, 1, 1};
  constexpr int kNoInterleave = 0, kFillWithZeros = 0;
  return api.tensor_map_encode_tiled(&into, element_, axes_, static_cast<std::byte*>(base) + offset_bytes_, size_.data(),
                                     stride_bytes_.data(), box_.data(), kElementStrides.data(), kNoInterleave, swizzle_, l2_,
                                     kFillWithZeros);
}

std::string TensorMapEncoding::description(const void* base) const {
  const bool aligned = reinterpret_cast<std::uintptr_t>(base) % TensorMap::kAlignment == 0;
  return fmt::format("the driver did not create a tensor map of argument {} ({} axes, {} elements along x, a box of {}){}", argument_,
                     axes_, size_[0], box_[0],
                     aligned ? "" : fmt::format("; the pointer is not aligned to {} bytes", TensorMap::kAlignment));
}

}  // namespace hone::cuda
