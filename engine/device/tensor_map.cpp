#include "engine/device/tensor_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace hone {
namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 32, kLargestStride = std::int64_t{1} << 40, kLargestBox = 256;
constexpr std::array<char, TensorMap::kMostAxes> kAxisNames{'x', 'y', 'z', 'u', 'v'};
constexpr std::array<std::int64_t, 4> kSwizzles{0, 32, 64, 128}, kL2{0, 64, 128, 256};

bool is_one_of(const std::array<std::int64_t, 4>& known, std::int64_t value) {
  return std::find(known.begin(), known.end(), value) != known.end();
}

Result<std::int64_t> evaluate(const Expression& expression, const Bindings& bound) {
  HONE_ASSIGN(const Value value, expression.evaluate(bound));
  return value.integer();
}

/// Bytes of so many elements, or the largest number there is, which no limit allows.
std::int64_t bytes_of(std::int64_t elements, std::int64_t each) {
  std::int64_t bytes = 0;
  const bool overflows = __builtin_mul_overflow(elements, each, &bytes);
  return overflows ? std::numeric_limits<std::int64_t>::max() : bytes;
}

std::string axis_error(const TensorMap& map, std::size_t axis) {
  const char axis_name = kAxisNames[axis];
  if (map.size[axis] < 1 || map.size[axis] > kLargestSize) {
    return fmt::format("{} elements along {}; 1 to 2^32 are possible", map.size[axis], axis_name);
  }
  if (map.box[axis] < 1 || map.box[axis] > kLargestBox) {
    return fmt::format("a box of {} elements along {}; 1 to {} are possible", map.box[axis], axis_name, kLargestBox);
  }
  if (axis > 0 &&
      (map.stride_bytes[axis] % TensorMap::kAlignment != 0 || map.stride_bytes[axis] < 1 || map.stride_bytes[axis] >= kLargestStride)) {
    return fmt::format("{} bytes from one to the next along {}; a multiple of {} below 2^40 is needed", map.stride_bytes[axis], axis_name,
                       TensorMap::kAlignment);
  }
  return "";
}

}  // namespace

std::string tensor_map_error(const TensorMap& map) {
  for (std::size_t axis = 0; axis < map.axes; ++axis) {
    if (std::string error = axis_error(map, axis); !error.empty()) {
      return error;
    }
  }
  if (!is_one_of(kSwizzles, map.swizzle)) {
    return fmt::format("a swizzle of {} bytes; there are 0, 32, 64 and 128", map.swizzle);
  }
  if (!is_one_of(kL2, map.l2)) {
    return fmt::format("l2 = {} bytes; there are 0, 64, 128 and 256", map.l2);
  }
  if (map.offset_bytes < 0 || map.offset_bytes % TensorMap::kAlignment != 0) {
    return fmt::format("the array begins {} bytes into the argument; a multiple of {} is needed", map.offset_bytes, TensorMap::kAlignment);
  }
  const std::int64_t row = map.box[0] * map.stride_bytes[0];
  if (map.axes > 0 && row % TensorMap::kAlignment != 0) {
    return fmt::format("rows of the box take {} bytes; a multiple of {} is needed", row, TensorMap::kAlignment);
  }
  if (map.axes > 0 && map.swizzle > 0 && row > map.swizzle) {
    return fmt::format("rows of the box take {} bytes, more than the swizzle of {}", row, map.swizzle);
  }
  return "";
}

Result<TensorMap> plan_tensor_map(const TensorMapping& mapping, DType element, const Bindings& bound) {
  TensorMap map{.argument = mapping.argument, .element = element};
  HONE_ASSIGN(map.swizzle, evaluate(mapping.swizzle, bound));
  HONE_ASSIGN(map.l2, evaluate(mapping.l2, bound));
  HONE_ASSIGN(const std::int64_t offset, evaluate(mapping.offset, bound));
  map.offset_bytes = bytes_of(offset, static_cast<std::int64_t>(size_of(element)));
  auto packed = static_cast<std::int64_t>(size_of(element));
  for (; map.axes < TensorMap::kMostAxes; ++map.axes) {
    const std::size_t axis = map.axes;
    HONE_ASSIGN(map.size[axis], evaluate(mapping.size[axis], bound));
    if (map.size[axis] == 0) {
      break;
    }
    HONE_ASSIGN(map.box[axis], evaluate(mapping.box[axis], bound));
    HONE_ASSIGN(const std::int64_t stride, evaluate(mapping.stride[axis], bound));
    map.stride_bytes[axis] = axis == 0 || stride == 0 ? packed : bytes_of(stride, static_cast<std::int64_t>(size_of(element)));
    packed = bytes_of(map.stride_bytes[axis], map.size[axis]);
  }
  if (std::string error = tensor_map_error(map); !error.empty()) {
    return Error{ErrorCode::kLaunch, std::move(error)};
  }
  return map;
}

}  // namespace hone
