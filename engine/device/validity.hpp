#pragma once
// Which configurations of a kernel are legal for one problem on one device.

#include <cstddef>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "engine/kernel/kernel_spec.hpp"
#include "engine/kernel/repeated_expressions.hpp"

namespace hone {

/// To be asked of many configurations: what constraints share, and what no parameter changes, is computed once.
class Validity {
 public:
  /// The kernel must live as long as this.
  Validity(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device) : Validity(spec, spec.constraints, problem, device) {}
  /// Of other conditions on the kernel's configurations, as its expectations.
  Validity(const KernelSpec& spec, const std::vector<Constraint>& constraints, const Problem& problem, const DeviceInfo& device);
  Validity(const Validity&) = delete;
  Validity& operator=(const Validity&) = delete;

  /// Whether it meets every one of them. One that cannot be evaluated is not met.
  bool operator()(const Configuration& configuration);

 private:
  RepeatedExpressions expressions_;
  std::vector<std::size_t> conditions_;
  RepeatedValues values_;
};

}  // namespace hone
