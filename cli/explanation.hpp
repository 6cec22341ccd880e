#pragma once
// What each constraint and expectation of a space removes, as text and JSON: hone space --explain.

#include <optional>
#include <string>
#include <vector>

#include "cli/run_verb.hpp"
#include "engine/space/space_explanation.hpp"
#include "engine/store/expectation_evidence.hpp"

namespace hone::cli {

/// What the store knows of each expectation; nothing without a store.
using Evidence = std::optional<std::vector<ExpectationEvidence>>;

/// `called`: the JSON name of `name`, "kernel" or "name".
Output explanation_output(const std::string& called, const std::string& name, const SpaceExplanation& explanation,
                          const Evidence& evidence);

}  // namespace hone::cli
