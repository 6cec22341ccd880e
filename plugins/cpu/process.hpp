#pragma once
// Runs a program to its end.

#include <string>
#include <vector>

#include "hone/error.hpp"

namespace hone::cpu {

struct ProcessResult {
  bool succeeded = false;
  std::string output;  ///< stdout and stderr together
};

/// Runs argv[0] (looked up in PATH, no shell) with messages in plain ASCII English, in this process group, so that a caller who kills the
/// group also ends it.
Result<ProcessResult> run_process(const std::vector<std::string>& argv);

}  // namespace hone::cpu
