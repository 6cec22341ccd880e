#pragma once
// Single elements on the host: for scalars, for in-place originals, for messages.

#include <cstddef>

#include "hone/dtype.hpp"

namespace hone::measure {

/// The number that `size_of(dtype)` bytes hold.
double decode(DType dtype, const std::byte* from);

/// Writes `value` rounded to nearest even, `size_of(dtype)` bytes.
void encode(DType dtype, double value, std::byte* to);

}  // namespace hone::measure
