#pragma once
// All that it takes to launch a kernel for a problem: the code, the passes, the arguments. What the engine runs and `hone export` writes.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/device/launch_device.hpp"
#include "engine/store/lookup.hpp"

namespace hone {

/// An argument of the kernel file, with what its expressions come to.
struct LaunchArgument {
  std::string name;
  Direction direction = Direction::kIn;
  DType dtype = DType::kF32;
  std::int64_t elements = 0;  ///< 0 of a scalar
  std::size_t bytes = 0;      ///< to allocate: at least one element; of a scalar, its size
  bool zeroed = false;        ///< must be zero before each launch
  Value scalar_default;
};

struct LaunchPlan {
  Choice choice;
  Compiled code;
  std::vector<PassLaunch> passes;         ///< in the order of their launches, on one stream
  std::vector<LaunchArgument> arguments;  ///< what PassLaunch::arguments points into
};

/// Errors: an extent that cannot be evaluated.
Result<std::vector<LaunchArgument>> launch_arguments(const KernelSpec& spec, const Problem& problem, const Configuration& configuration);

/// Takes the code from the record's artifact, else from the store, else compiles it (and keeps it in a store that can be written). Without
/// a compiler, what another version of it made of the configuration serves. A store that cannot be read is as one without the code. `store`
/// may be null; `device` need not be present. Errors: code that is in no store and no compiler to make it; what its compiler says.
Result<LaunchPlan> make_launch_plan(const KernelSpec& spec, const Problem& problem, Choice choice, const FoundDevice& device, Store* store);

}  // namespace hone
