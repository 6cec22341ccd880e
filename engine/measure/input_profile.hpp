#pragma once
// The values of inputs. Stress profiles complement the usual random values: a kernel that is correct for numbers around one may overflow,
// divide by zero or lose a sign for others. docs/checking.md says what a kernel may rely on.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/measure/measure.hpp"
#include "hone/dtype.hpp"

namespace hone::measure {

/// `count` elements of an argument, as bytes. Integer elements stay within [-128, 127] in every profile, unsigned ones within [0, 255].
/// `scalars`: of its kernel; InputProfile::kFew has them among its numbers.
std::vector<std::byte> draw(InputProfile profile, DType dtype, std::size_t count, std::uint64_t seed, std::span<const double> scalars = {});

/// A scalar of this profile: its default, or another number if the profile changes scalars. Integers stay near their defaults and keep
/// their signs, because they often select or count something.
double scalar(InputProfile profile, DType dtype, double usual);

}  // namespace hone::measure
