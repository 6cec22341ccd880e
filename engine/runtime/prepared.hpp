#pragma once
// What Engine prepares for a problem once, and what a handle of it holds.

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/runtime/launch_plan.hpp"
#include "engine/runtime/origin.hpp"
#include "hone/engine.hpp"

namespace hone {

/// Shared by all handles of a problem. The device comes first: it goes last.
struct Prepared {
  std::shared_ptr<LaunchDevice> device;
  Origin origin;
  std::string name;
  std::vector<Parameter> parameters;
  Problem problem;
  Choice choice;
  std::string why;
  Shape tuned_shape;
  std::vector<Staleness> stale;
  std::vector<LaunchArgument> arguments;
  std::vector<std::int64_t> extents;  ///< elements of each argument: other than LaunchArgument::elements, 0 where it has none
  std::size_t passed_count = 0;       ///< arguments that the caller passes: all but workspaces
  std::shared_ptr<const LoadedKernel> loaded;
  bool provisional = false;                     ///< the store could not be asked
  bool settled = false;                         ///< tuned for this very problem: of an operation, its kernels were held against each other
  mutable std::atomic<bool> superseded{false};  ///< the problem was tuned since

  [[nodiscard]] bool has_workspaces() const { return passed_count < arguments.size(); }
};

struct __attribute__((visibility("hidden"))) Kernel::State {
  std::shared_ptr<const Prepared> prepared;
  std::vector<std::unique_ptr<Buffer>> workspaces;  ///< in the order of the arguments that are some
  std::vector<void*> addresses;                     ///< of these

  /// What is to be said of the type of the argument `i`, if it is not that of the kernel file.
  [[nodiscard]] Result<void> check_type(std::size_t i, std::size_t position, Passed passed) const;
  /// The same of the pointer, and of the span that it may be.
  [[nodiscard]] Result<void> check_memory(std::size_t i, std::size_t position, Passed passed, const void* value) const;
};

/// Errors: too many arguments; an extent that cannot be evaluated.
Result<std::shared_ptr<Prepared>> prepare(const KernelSpec& spec, const Problem& problem, LaunchPlan plan,
                                          std::shared_ptr<LaunchDevice> device, const DeviceInfo& info);

}  // namespace hone
