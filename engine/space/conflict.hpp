#pragma once
// Which constraints contradict one another.

#include <vector>

#include "engine/space/terms.hpp"

namespace hone::space {

/// One conjunct of a constraint, with what is fixed put in.
struct Condition {
  TermId term = Terms::kTrue;
  const Constraint* source = nullptr;
  std::string text;  ///< in a form that reads the same for the same condition
};

/// Conditions that contradict one another, none of which can be left out. `conditions` are over the parameters of `order`.
std::vector<Condition> minimal_conflict(Terms& terms, const std::vector<ParameterId>& order, std::vector<Condition> conditions);

/// The error of an empty space, with what the culprits say of things that are fixed.
Error contradiction(const std::vector<Condition>& culprits, const Bindings& fixed);

}  // namespace hone::space
