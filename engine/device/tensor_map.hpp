#pragma once
// A tensor map of a launch: a TENSOR_MAP of a kernel file with its expressions evaluated, and checked against the rules of the hardware.

#include <array>
#include <cstdint>
#include <string>

#include "engine/kernel/kernel_spec.hpp"

namespace hone {

struct TensorMap {
  static constexpr std::size_t kMostAxes = TensorMapping::kMostAxes;
  static constexpr std::int64_t kAlignment = 16;  ///< bytes, of the base and of every stride

  int argument = 0;  ///< index into KernelSpec::arguments
  DType element = DType::kF32;
  std::size_t axes = 0;  ///< that there are; with none the configuration does not use the map
  std::array<std::int64_t, kMostAxes> size{}, box{};
  std::array<std::int64_t, kMostAxes> stride_bytes{};  ///< x's is the size of an element
  std::int64_t swizzle = 0, l2 = 0;                    ///< bytes
  std::int64_t offset_bytes = 0;                       ///< from the argument's address to the array
};

/// Evaluates a mapping of an argument whose elements are `element`. Errors, kLaunch: an expression that fails, or a rule of the hardware
/// broken (extents, strides that are no multiples of 16 bytes, a box that is too large or wider than its swizzle).
Result<TensorMap> plan_tensor_map(const TensorMapping& mapping, DType element, const Bindings& bound);

/// Why the hardware has no such map; empty if it has.
std::string tensor_map_error(const TensorMap& map);

}  // namespace hone
