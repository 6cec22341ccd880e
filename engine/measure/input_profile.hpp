#pragma once
// What inputs look like. Beside the usual draw there are those that provoke: what is right for numbers around one may overflow, divide by
// zero or lose a sign for others. docs/kernels.md says what of it a kernel may rely on.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "hone/dtype.hpp"
#include "hone/measure.hpp"

namespace hone::measure {

/// `count` elements of an argument, as bytes. Integer elements stay within [-128, 127] whatever the profile.
std::vector<std::byte> draw(InputProfile profile, DType dtype, std::size_t count, std::uint64_t seed);

/// A scalar other than its default, of the same sign and no larger, so that it still means what it did: three quarters of a number, one
/// less of an integer above 1, a half or 1 instead of 0.
double other_scalar(DType dtype, double usual);

}  // namespace hone::measure
