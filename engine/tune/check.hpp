#pragma once
// The full gate over a sample of configurations, and once more under the device's sanitizers: what `hone check` does.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/device/trial.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "engine/measure/given.hpp"
#include "engine/plugin/registry.hpp"
#include "engine/space/search_space.hpp"

namespace hone {

struct CheckRequest {
  KernelSpec spec;
  std::vector<Problem> problems;  ///< at least one
  Registry::Found device;
  std::size_t configurations = 8;       ///< drawn at random, beside the default and those it takes to meet every value of every parameter
  std::uint64_t seed = 0;               ///< of the sample and of the inputs
  Given given = {};                     ///< arrays for each of the problems; small problems are drawn as ever
  std::vector<std::string> sanitizers;  ///< by name; empty: the one that the device begins with
  std::function<void(const std::string&)> on_progress = {};  ///< called with what is being done
  std::stop_token stop = {};
};

/// One configuration on one problem, by the gate alone or under a sanitizer.
struct Checked {
  Problem problem;
  std::string sanitizer;  ///< empty: none
  Configuration configuration;
  Outcome outcome = Outcome::kOk;
  std::string detail;      ///< of a failure: what, on which problem, where in the source
  double max_error = 0.0;  ///< as of Trial
  /// What the device cannot launch is no fault of the kernel.
  [[nodiscard]] bool wrong() const { return outcome != Outcome::kOk && outcome != Outcome::kStaticReject; }
};

/// A part of the check that there was no way to run. It says nothing about the kernel.
struct NotRun {
  Problem problem;
  std::string sanitizer, why;
};

struct CheckReport {
  std::vector<Checked> checked;
  std::vector<NotRun> not_run;
  std::vector<std::string> notes;  ///< of the default: inputs that it is wrong for, so that nothing was held to them; no fault
  std::vector<std::string> without_configuration;  ///< "vec=8 (f32 rows=512)": no valid configuration has the value
  [[nodiscard]] std::size_t wrong() const;
};

/// The configurations of a check: the default (or the valid one nearest to it) first, `drawn` uniform ones, and so many more that each
/// value of each parameter that any has is there. `without` gets the values that none has.
Result<std::vector<Configuration>> check_sample(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device, std::size_t drawn,
                                                std::uint64_t seed, std::vector<std::string>& without);

/// The kernel's default problem for `dtype`, its largest extents halved until no argument has more than `elements` elements and a run does
/// no more than `operations`.
Problem reduced_problem(const KernelSpec& spec, const DTypes& dtype, std::int64_t elements, double operations);

/// Nothing is stored. Errors: an unknown sanitizer, an empty space, no compiler, no worker, kCancelled. A kernel that fails is no error:
/// the report says so.
Result<CheckReport> check(const CheckRequest& request);

}  // namespace hone
