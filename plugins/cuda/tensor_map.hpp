#pragma once
// A planned tensor map as the driver wants it. What cuTensorMapEncodeTiled takes is computed when the kernel is loaded; the address is
// added at each launch.

#include <array>
#include <cstdint>
#include <string>

#include "engine/device/tensor_map.hpp"
#include "plugins/cuda/driver_api.hpp"

namespace hone::cuda {

class TensorMapEncoding {
 public:
  explicit TensorMapEncoding(const TensorMap& map);

  [[nodiscard]] int argument() const { return argument_; }
  /// A map that the configuration does not use becomes zeros.
  Status encode(const DriverApi& api, void* base, EncodedTensorMap& into) const;
  /// For messages.
  [[nodiscard]] std::string description(const void* base) const;

 private:
  int argument_ = 0, element_ = 0, swizzle_ = 0, l2_ = 0;
  std::uint32_t axes_ = 0;
  std::int64_t offset_bytes_ = 0;
  std::array<std::uint64_t, TensorMap::kMostAxes> size_{}, stride_bytes_{};  ///< strides begin with y's
  std::array<std::uint32_t, TensorMap::kMostAxes> box_{};
};

}  // namespace hone::cuda
