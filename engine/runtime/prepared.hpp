#pragma once
// What Engine prepares for a problem once, and what a handle of it holds.

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "engine/runtime/launch_checks.hpp"
#include "engine/runtime/launch_plan.hpp"
#include "engine/runtime/origin.hpp"
#include "engine/runtime/workload_recorder.hpp"
#include "engine/runtime/workspaces.hpp"
#include "hone/kernel_handle.hpp"

namespace hone {

/// What a launch has to know of an argument that the caller passes, or of a workspace.
struct PassedArgument {
  std::size_t index = 0;  ///< of LaunchPlan::arguments
  bool pointer = false;
  std::size_t least_bytes = 0;  ///< 0: it may be null
};
struct WorkspaceArgument {
  std::size_t index = 0, offset = 0, bytes = 0;  ///< in the memory of all workspaces of the kernel
  bool zeroed = false;
};

/// Shared by all handles of a problem. The device comes first: it goes last.
struct Prepared {
  std::shared_ptr<LaunchDevice> device;
  std::shared_ptr<Workspaces> memory;  ///< for workspaces
  Origin origin;
  std::vector<PassedArgument> passed;
  std::vector<WorkspaceArgument> workspaces;
  std::size_t workspace_bytes = 0;  ///< of all
  bool clears_passed = false;       ///< what the caller passes has to begin as zeros, some of it
  /// Kernel::Types::signature of types that were held against the arguments and fit: those of the first call, and of the latest that had
  /// others.
  mutable std::array<std::atomic<std::uint64_t>, 2> fitting_types{};
  std::shared_ptr<const LoadedKernel> loaded;
  std::shared_ptr<const LaunchCounter> launches;  ///< null: they are not counted
  std::string name;
  std::vector<Parameter> parameters;
  Problem problem;
  std::string configuration, dtypes;  ///< as texts
  std::string range;                  ///< what profilers call its launches: "softmax block=256,..."
  Choice choice;
  std::string why;
  Shape tuned_shape;
  std::vector<Staleness> stale;
  std::vector<LaunchArgument> arguments;
  std::vector<std::int64_t> extents;            ///< elements of each argument: other than LaunchArgument::elements, 0 where it has none
  std::atomic<bool> provisional{false};         ///< the store could not be asked
  bool needs_no_tuning = false;                 ///< tuned for this very problem: of an operation, its kernels were held against each other
  mutable std::atomic<bool> superseded{false};  ///< the problem was tuned since, or this was found wrong
  std::unique_ptr<CheckedLaunches> checked;     ///< null: its launches are not checked
};

/// Where it is prepared.
struct PreparedFor {
  std::shared_ptr<LaunchDevice> device;
  std::shared_ptr<Workspaces> memory;
  const DeviceInfo* info = nullptr;
};

/// Errors: too many arguments; an extent that cannot be evaluated; no memory for workspaces.
Result<std::shared_ptr<Prepared>> prepare(const KernelSpec& spec, const Problem& problem, LaunchPlan plan, const PreparedFor& where);

}  // namespace hone
