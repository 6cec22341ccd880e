#pragma once
// What libraries have for a problem, among the kernels of its operation.

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "engine/kernel/operation.hpp"
#include "engine/plugin/registry.hpp"

namespace hone {

class IdleWorkers;

/// Each library of the device that implements the operation is asked in a worker and joins it, with a kernel kept in `specs`; those in
/// `without` are not asked, and one that is not here takes no part. The worker is of `idle_workers`, if that is there. Returns why others
/// take none.
std::vector<std::string> add_libraries(Operation& operation, std::deque<KernelSpec>& specs, const Registry::Found& device,
                                       const Problem& problem, std::span<const std::string> without = {},
                                       IdleWorkers* idle_workers = nullptr);

}  // namespace hone
