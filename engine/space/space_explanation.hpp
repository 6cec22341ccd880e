#pragma once
// Why a search space has the size it has.

#include <optional>
#include <string>
#include <vector>

#include "engine/space/search_space.hpp"

namespace hone {

/// What one constraint does to all combinations, or one expectation to the valid ones. A count is missing where it cannot be had exactly in
/// bounded memory.
struct ConstraintEffect {
  std::string text;
  int line = 0;                         ///< in the kernel file or the description; 0 if unknown
  std::vector<std::string> parameters;  ///< those that it ties together, in the order of declaration
  std::string comment = {};             ///< beside it
  std::optional<Count> removes_alone;   ///< of all, if it were the only one
  std::optional<Count> removes_last;    ///< of what all the others leave
};

struct SpaceExplanation {
  Count cartesian = 0;
  std::optional<Count> valid;
  std::vector<ConstraintEffect> effects;  ///< one for each constraint, in their order
  /// Of an empty space: constraints (indices into `effects`) that cannot be met together, and can if any of them is left out.
  std::vector<std::size_t> conflict;
  bool conflict_is_smallest = false;  ///< no contradiction among fewer constraints exists; otherwise that is not known
  std::optional<Count> likely;        ///< meet the expectations as well
  std::vector<ConstraintEffect> expectations;
  /// Where no valid configuration meets them all: expectations (indices) that cannot be met together with some of the constraints.
  std::vector<std::size_t> disagreement;
};

/// Counts by building the space of one constraint, of all but one, and of all. Errors: as SearchSpace::build, but for kEmptySpace.
Result<SpaceExplanation> explain(const std::vector<Parameter>& parameters, const std::vector<Constraint>& constraints,
                                 const Bindings& fixed, const std::vector<Constraint>& expectations = {});

}  // namespace hone
