// Whose compilers may do each other's work.
#include "engine/tune/attached_workers.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "engine/plugin/registry.hpp"
#include "engine/tune/serve_trials.hpp"

using namespace hone;

namespace {

DeviceInfo device(std::string_view plugin) {
  DeviceInfo info;
  info.plugin = plugin;
  info.product = "One";
  info.architecture = "a";
  return info;
}

}  // namespace

TEST_CASE("compilers of different versions do not do each other's work, nor those of processors that differ") {
  DeviceInfo gpu = device("cuda");
  gpu.compile_overlaps = true;
  gpu.environment["compiler"] = "NVRTC 13.0";
  DeviceInfo other = gpu;
  other.product = "Another";
  CHECK(compile_target(gpu) == compile_target(other));
  other.environment["compiler"] = "NVRTC 12.8";
  CHECK(compile_target(gpu) != compile_target(other));
  DeviceInfo host = device("cpu");
  host.compile_overlaps = false;
  other = host;
  CHECK(compile_target(host) == compile_target(other));
  other.product = "Another";
  CHECK(compile_target(host) != compile_target(other));
}

TEST_CASE("a host that compiles announces what its own devices need") {
  const Registry registry = make_builtin_registry();
  const std::vector<std::string> targets = compile_targets(registry);
  for (const auto& plugin : registry.devices()) {
    if (!plugin->compiler_version()) {
      continue;
    }
    CAPTURE(std::string(plugin->name()));
    CHECK(compiler_here(*plugin)->find(" (") == std::string::npos);
    if (const auto infos = plugin->enumerate()) {
      for (const DeviceInfo& info : *infos) {
        CHECK(std::ranges::count(targets, compile_target(info)) == 1);
      }
    }
    // A coordinator without a device of its own says which compiler it has.
    DeviceInfo attached = device(plugin->name());
    attached.compile_overlaps = true;
    attached.environment["compiler"] = *compiler_here(*plugin);
    CHECK(std::ranges::count(targets, compile_target(attached)) == 1);
  }
}
