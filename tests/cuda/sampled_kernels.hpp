#pragma once
// Configurations of built-in kernels, drawn from their spaces: that they can be launched as they are planned, and that they compile.

#include <doctest/doctest.h>

#include <random>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/runtime/launch_plan.hpp"
#include "engine/space/search_space.hpp"
#include "engine/store/lookup.hpp"
#include "plugins/cuda/loaded_kernel.hpp"
#include "test_kernels.hpp"
#include "tests/skip.hpp"

namespace test {

/// A device of this architecture with the shared memory of an H200.
inline DeviceInfo large(const std::string& architecture, std::int64_t compute_capability) {
  DeviceInfo info = large_device(architecture, compute_capability);
  info.properties["shared_memory_per_block"] = 232448;
  info.properties["shared_memory_per_multiprocessor"] = 233472;
  return info;
}

/// Some configurations can be launched as they are planned.
inline void check_plans(const KernelSpec& spec, const Problem& problem, const SearchSpace& space, const DeviceInfo& device,
                        std::size_t count) {
  std::mt19937_64 random(1);
  for (const auto position : space.sample(random, count)) {
    CAPTURE(text(spec.parameters, space.at(position)));
    const auto plan = plan_launch(spec, problem, space.at(position), device);
    REQUIRE_MESSAGE(plan.ok(), plan.error().message);
    CHECK(static_reject(*plan, {}, device) == "");
  }
}

/// Compiles the default, if it is valid, and `count` more.
inline void compile_some(const char* kernel, const Shape& shape, const DeviceInfo& device, std::size_t count, std::uint64_t seed) {
  const auto compiler = cuda_plugin().compiler(device);
  if (!compiler) {
    hone::tests::skip("nvrtc", compiler.error().message);
    return;
  }
  const KernelSpec& spec = **find_builtin_kernel(kernel);
  const Problem problem = make_problem(spec, DType::kBF16, shape).value();
  const auto space = space_of(spec, problem, device);
  REQUIRE_MESSAGE(space.ok(), space.error().message);
  std::mt19937_64 random(seed);
  std::vector<Configuration> configurations;
  for (const auto position : space->sample(random, count)) {
    configurations.push_back(space->at(position));
  }
  if (space->contains(default_configuration(spec))) {
    configurations.push_back(default_configuration(spec));
  }
  for (const Configuration& configuration : configurations) {
    CAPTURE(text(spec.parameters, configuration));
    const auto plan = plan_launch(spec, problem, configuration, device);
    REQUIRE_MESSAGE(plan.ok(), plan.error().message);
    const auto compiled = compile(**compiler, spec, {configuration}, DType::kBF16, shape);
    REQUIRE_MESSAGE(compiled[0].ok(), compiled[0].error().message);
    CHECK(static_reject(*plan, compiled[0]->resources, device) == "");
  }
}

}  // namespace test
