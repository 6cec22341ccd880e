#pragma once
// A run of a suite: every case measured in several fresh processes beside its control, and compared with what was recorded.

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/trial.hpp"
#include "engine/gate/allowance.hpp"

namespace hone::gate {

/// What was recorded of a case on this product of device.
struct Expectation {
  Outcome outcome = Outcome::kOk;  ///< of the latest run; another one is a known failure, which raises no alarm
  std::vector<Level> runs;         ///< with kOk, at least one
};

struct Case {
  std::string name;
  std::optional<std::size_t> control;   ///< of GateRequest::controls: a configuration that is not expected to change
  std::optional<Expectation> expected;  ///< nothing: not recorded
};

/// What is to be measured, in a process of its own.
struct Measurable {
  bool is_control = false;
  std::size_t index = 0;  ///< of GateRequest::controls or cases
  bool again = false;     ///< the second look at a case that looked slower: what was chosen by chance is to be chosen anew
};

struct GateRequest {
  std::vector<std::string> controls;  ///< their names
  std::vector<Case> cases;
  int processes = 5;                     ///< of each case in a run
  double least = 0.02;                   ///< what is slower by less is never called slower
  std::vector<Expectation> others = {};  ///< of cases that are not part of this run: they, too, tell how much runs differ on this product
  std::function<Result<Trial>(const Measurable&)> measure;
  std::function<void(const std::string&)> on_progress = {};  ///< called with what is measured next
  std::stop_token stop = {};
};

enum class Verdict {
  kOk,
  kFaster,       ///< by more than it may be slower: record it, or its loss will not be noticed
  kSlower,       ///< when measured again in fresh processes, too
  kWrong,        ///< its results are
  kFails,        ///< it was not recorded to
  kStillFails,   ///< as recorded
  kWorksAgain,   ///< it was recorded to fail
  kNotRecorded,  ///< nothing to compare with
};
std::string_view name(Verdict verdict);
/// Whether somebody must look at it.
constexpr bool is_alarm(Verdict verdict) { return verdict == Verdict::kSlower || verdict == Verdict::kWrong || verdict == Verdict::kFails; }

/// What came of a case.
struct Finding {
  Verdict verdict = Verdict::kOk;
  Outcome outcome = Outcome::kOk;
  std::string detail;                  ///< the message of a failure
  Resources resources;                 ///< of its code
  std::optional<Level> level;          ///< of the processes that were compared: fresh ones where it looked slower. Nothing if it failed
  std::vector<double> times_us;        ///< of all processes, each the median of its samples
  std::optional<Allowance> allowance;  ///< nothing if nothing is recorded
  double change = 0.0;                 ///< against what was recorded: 0.05 is 5 % slower. Of the latest processes
  bool measured_again = false;         ///< it looked slower at first, and `change` is of fresh processes alone
};

/// What came of a control. Cases are compared by their control's time, so that a change of the control itself shows nowhere else.
struct ControlFinding {
  std::optional<double> us;        ///< the median of its processes; nothing if no case with it was measured
  std::optional<double> usual_us;  ///< the median of the recorded runs of the cases that have it; nothing if there are none
  [[nodiscard]] double change() const { return us && usual_us ? *us / *usual_us - 1.0 : 0.0; }
  /// By more than the clocks of machines of one product differ.
  [[nodiscard]] bool has_changed() const { return change() > 0.1 || change() < -0.1; }
};

struct Report {
  std::vector<Finding> cases;
  std::vector<ControlFinding> controls;
};

/// Passes over all cases and controls, so that each case's processes are spread over the run. What is slower by more than half of its
/// allowance is measured again in twice as many fresh processes, which decide. A case or a control that fails is tried in one more
/// process; wrong results are not. Errors: a control failed twice running; those of `measure`; kCancelled.
Result<Report> run_gate(const GateRequest& request);

}  // namespace hone::gate
