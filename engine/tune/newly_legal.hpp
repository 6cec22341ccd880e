#pragma once
// What is one parameter from a configuration; of that what its author expects something of, and what a search could not try where it won.

#include <vector>

#include "engine/store/lookup.hpp"

namespace hone {

/// The configurations that differ from this one in the value of one parameter and are legal, in the order of the parameters and their
/// values. The problem is the kernel's own.
std::vector<Configuration> legal_neighbours(const KernelSpec& spec, const Configuration& configuration, const Problem& problem,
                                            const DeviceInfo& device);

/// Those of them that meet the author's expectations, or all, if none does.
std::vector<Configuration> likely_neighbours(const KernelSpec& spec, const Configuration& configuration, const Problem& problem,
                                             const DeviceInfo& device);

/// Those that are legal for `here` and not for `there`: extents that a wide access divides allow what others do not.
std::vector<Configuration> newly_legal(const KernelSpec& spec, const Configuration& configuration, const Problem& here,
                                       const Problem& there, const DeviceInfo& device);

}  // namespace hone
