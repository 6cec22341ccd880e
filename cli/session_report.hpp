#pragma once
// What a session has found: its best configurations, what each value of a parameter can reach, and what failed.

#include <string_view>
#include <vector>

#include "cli/options.hpp"
#include "engine/device/trial.hpp"

namespace hone::cli {

/// "done", "running", or "interrupted".
std::string_view state_name(const SessionInfo& session);
Json json(const SessionInfo& session);

/// Of the trials and controls of a session; the text shows the best `top` of them.
Output report(const SessionInfo& session, const std::vector<Parameter>& parameters, const std::vector<Trial>& trials,
              const std::vector<Control>& controls, std::size_t top);

}  // namespace hone::cli
