#pragma once
// Where a search begins.

#include "engine/space/search_space.hpp"

namespace hone {

/// The position of the kernel's default, or, where that is not valid for the problem, of the valid configuration nearest to it.
Count default_position(const SearchSpace& space, const Configuration& wanted);

}  // namespace hone
