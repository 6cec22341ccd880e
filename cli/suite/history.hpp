#pragma once
// The runs of a suite over time: a file to which each run adds a line of JSON, and a picture of them.

#include <filesystem>
#include <string>
#include <vector>

#include "cli/report/svg.hpp"
#include "engine/gate/gate.hpp"

namespace hone::cli::suite {

/// What came of a case in a run.
struct PastCase {
  std::string name;
  gate::Verdict verdict = gate::Verdict::kOk;
  double us = 0.0;       ///< 0 if it failed
  double change = 0.0;   ///< against what was expected then
  double allowed = 0.0;  ///< 0: nothing was expected
};

struct PastRun {
  std::string date, product;
  std::vector<PastCase> cases;
};

/// Adds a line to the file, or makes it. Errors: kIo.
Result<void> append_run(const std::filesystem::path& path, const PastRun& run);
/// The runs on this product, as they were added. Errors: kIo; kInvalidArgument, a line that is none of these (its number).
Result<std::vector<PastRun>> read_runs(const std::filesystem::path& path, const std::string& product);

/// Each case's change over the runs, with what was allowed, one strip below the other. The latest 100 runs.
page::Svg trend_picture(const std::vector<PastRun>& runs);

}  // namespace hone::cli::suite
