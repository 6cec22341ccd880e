#pragma once
// The valid configuration nearest to a given point.

#include <span>

#include "engine/space/space_builder.hpp"

namespace hone::space {

/// Digits of a valid configuration; the product must not be empty. See SearchSpace::nearest for the distance.
Digits nearest(const Product& product, std::span<const std::uint16_t> wanted);

}  // namespace hone::space
