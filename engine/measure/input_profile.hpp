#pragma once
// What inputs look like. Beside the usual draw there are those that provoke: what is right for numbers around one may overflow, divide by
// zero or lose a sign for others. docs/checking.md says what of it a kernel may rely on.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/measure/measure.hpp"
#include "hone/dtype.hpp"

namespace hone::measure {

/// `count` elements of an argument, as bytes. Integer elements stay within [-128, 127] whatever the profile.
std::vector<std::byte> draw(InputProfile profile, DType dtype, std::size_t count, std::uint64_t seed);

/// A scalar of this profile: its default, or another number where the profile is one of scalars. Integers stay near their defaults and keep
/// their signs, for they choose or count.
double scalar(InputProfile profile, DType dtype, double usual);

}  // namespace hone::measure
