#pragma once
// Configurations and references, ready to launch.

#include <memory>

#include "engine/device/device.hpp"
#include "plugins/cpu/executor.hpp"
#include "plugins/cpu/module.hpp"

namespace hone::cpu {

/// Errors (kLaunch): a geometry this device does not have (clusters, cooperative launches), a symbol that is not there.
Result<std::unique_ptr<LoadedKernel>> make_loaded_kernel(std::shared_ptr<Executor> executor, std::shared_ptr<const Module> module,
                                                         const Compiled& compiled, const std::vector<PassLaunch>& plan,
                                                         const Problem& problem);
Result<std::unique_ptr<LoadedKernel>> make_loaded_reference(std::shared_ptr<Executor> executor, std::shared_ptr<const Module> module,
                                                            const Compiled& compiled, const std::vector<PassLaunch>& plan,
                                                            const Problem& problem);

}  // namespace hone::cpu
