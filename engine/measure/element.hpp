#pragma once
// Single elements on the host: for scalars, for in-place originals, for messages.

#include <cstddef>
#include <cstdint>

#include "hone/dtype.hpp"

namespace hone::measure {

/// The number that `size_of(dtype)` bytes hold.
double decode(DType dtype, const std::byte* from);

/// Writes `value`, `size_of(dtype)` bytes: rounded to nearest even; to integers toward zero, and no further than their bounds.
void encode(DType dtype, double value, std::byte* to);
/// The same of a whole number, which 64-bit integers hold exactly.
void encode(DType dtype, std::int64_t value, std::byte* to);

/// Element i of a usual input, as every device fills it.
double usual_element(DType dtype, std::uint64_t seed, std::size_t i);

}  // namespace hone::measure
