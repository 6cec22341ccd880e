#pragma once
// A run of a suite: its files, what was measured, and what is recorded of it.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/run_verb.hpp"
#include "cli/suite/expectations_file.hpp"
#include "cli/suite/history.hpp"
#include "cli/suite/preparation.hpp"

namespace hone::cli::suite {

/// A run of a suite, from its files to what was found.
struct SuiteRun {
  SuiteFile file;  ///< with the cases that are asked for
  std::filesystem::path expectations_file = {};
  std::optional<Expectations> expected = {};
  DeviceInfo device = {};
  std::string date = {};  ///< UTC, ISO 8601
  std::vector<Prepared> controls = {}, cases = {};
  std::vector<gate::Finding> findings = {};  ///< of each case
  std::vector<gate::ControlFinding> control_findings = {};
  std::vector<std::string> changed = {};  ///< cases that the suite defines otherwise than when they were recorded

  /// ExpectedCase::control of a case.
  [[nodiscard]] std::string control_of(std::size_t place) const;
  /// Whether somebody must look at a case, or nothing is known of it any more.
  [[nodiscard]] bool alarm() const;
};

using OnProgress = std::function<void(const std::string&)>;

/// Prepares and measures all cases. Errors: those of prepare() and run_gate(); a control whose kernel fails.
Result<void> measure_all(const Surroundings& around, const OnProgress& on_progress, SuiteRun& run);

/// Whether --record takes the finding over; --update takes all that is not wrong. What is faster is a new level, not one more run of the
/// old.
bool is_recorded(gate::Verdict verdict, bool update);
/// The expectations after this run. `whole`: with --update, what it does not have any more is left out.
Expectations recorded(const SuiteRun& run, bool update, const SuiteFile& whole);
/// Its line of the history.
PastRun past_run(const SuiteRun& run);

Json run_json(const SuiteRun& run);
std::string run_text(const SuiteRun& run);

}  // namespace hone::cli::suite
