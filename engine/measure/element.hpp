#pragma once
// Single elements on the host: for scalars, for in-place originals, for messages.

#include <cstddef>
#include <cstdint>

#include "hone/dtype.hpp"

namespace hone::measure {

/// The number stored in `size_of(dtype)` bytes.
double decode(DType dtype, const std::byte* from);

/// Writes `value` as `size_of(dtype)` bytes: rounded to nearest even; for integers toward zero, clamped to their bounds.
void encode(DType dtype, double value, std::byte* to);
/// The same for an integer, exact for 64 bits.
void encode(DType dtype, std::int64_t value, std::byte* to);

/// Element i of a usual input, the same on every device.
double usual_element(DType dtype, std::uint64_t seed, std::size_t i);

}  // namespace hone::measure
