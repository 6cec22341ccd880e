#pragma once
// What a search could not try where a configuration won.

#include <vector>

#include "engine/store/lookup.hpp"

namespace hone {

/// The configurations that differ from this one in the value of one parameter, and are legal for `here` and not for `there`: extents that a
/// wide access divides allow what others do not. In the order of the parameters and their values. The problems are the kernel's own.
std::vector<Configuration> newly_legal(const KernelSpec& spec, const Configuration& configuration, const Problem& here,
                                       const Problem& there, const DeviceInfo& device);

}  // namespace hone
