#pragma once
// How a running session looks: from what it has reached to text, and nothing else.

#include <optional>
#include <string>
#include <vector>

#include "cli/terminal.hpp"
#include "engine/tune/session.hpp"
#include "hone/budget.hpp"

namespace hone::cli {

/// What is to be shown.
struct ProgressState {
  Budget budget;
  std::optional<Progress> reached;  ///< nothing before the first trial
  double seconds = 0.0;             ///< into the session, now: the last trial was reported earlier
};

/// For a terminal that redraws: three lines, none wider than the look. What does not fit is left out, the least important first.
std::vector<std::string> progress_lines(const ProgressState& state, const Look& look);
/// For a pipe or a log: one line, of any width.
std::string progress_line(const ProgressState& state, const Look& look);
/// A line for each trial, of any width: what came of it.
std::string trial_line(const Progress& reached, const Look& look);

}  // namespace hone::cli
