#pragma once
// Which parameters belong together, and in which order they are decided.

#include <vector>

#include "engine/space/terms.hpp"

namespace hone::space {

/// Parameters that a condition ties together, directly or through others, and the conditions over them.
struct Group {
  std::vector<ParameterId> parameters;  ///< in the order of declaration
  std::vector<std::size_t> conditions;  ///< indices into the conditions given
};
std::vector<Group> independent_groups(const Terms& terms, const std::vector<TermId>& conditions);

/// An order that keeps few conditions open: next comes the parameter after which the fewest combinations are to be remembered.
std::vector<ParameterId> narrow_order(const Terms& terms, const Group& group, const std::vector<TermId>& conditions);

}  // namespace hone::space
