#pragma once
// From the conditions of one group of parameters to its diagram.

#include <optional>
#include <vector>

#include "engine/space/diagram.hpp"
#include "engine/space/state_layout.hpp"

namespace hone::space {

/// The diagram of the configurations for which all conditions hold, its levels in the given order; its root is kDead if there are none.
/// Nodes are shared by what is left of the conditions below them. Nothing where it would need more than `limit` states.
std::optional<Diagram> build_diagram(Terms& terms, const std::vector<ParameterId>& order, const std::vector<TermId>& conditions,
                                     std::size_t limit);

}  // namespace hone::space
