#pragma once
// A store with records of a few problems and their code: what a tuned application finds.

#include <filesystem>
#include <string>
#include <vector>

#include "engine/device/launch_device.hpp"
#include "engine/kernel/kernel_spec.hpp"
#include "hone/problem.hpp"

namespace hone::bench {

struct Tuned {
  const KernelSpec* spec = nullptr;
  Problem problem;
  Configuration configuration;
};

/// Problems of `kernel` at the given shapes, each with another configuration where the space has several (else all code would be the same).
Result<std::vector<Tuned>> draw_configurations(const std::string& kernel, DType dtype, const std::vector<Shape>& shapes,
                                               const FoundDevice& device);

/// Compiles and records all. The times recorded are made up: nobody asks a lookup for them.
Result<void> record_all(const std::filesystem::path& store, const std::vector<Tuned>& tuned, const FoundDevice& device);

}  // namespace hone::bench
