#pragma once
// What a store knows against the expectations of a kernel.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/kernel/kernel_problem.hpp"
#include "engine/store/store.hpp"

namespace hone {

/// Of one expectation, over the problems that were tuned on a product.
struct ExpectationEvidence {
  std::int64_t problems = 0;  ///< that the store holds right trials of
  std::int64_t against = 0;   ///< of these: the fastest configuration breaks it, and is faster by more than 1 % than any that meets it
  double factor = 1.0;        ///< the largest (fastest that meets it) / (fastest), over those against it
  std::string where = {};     ///< the problem of that factor: "f16 rows=4096,cols=1024"
};

/// One for each expectation of the kernel, from its sessions on devices like this one, whatever its source was then.
Result<std::vector<ExpectationEvidence>> expectation_evidence(const KernelSpec& spec, const DeviceInfo& device, Store& store);

}  // namespace hone
