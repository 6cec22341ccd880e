#include "engine/device/launch_device.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "engine/base/thread_index.hpp"

namespace hone {
namespace {

/// What is here in place of a device that is not. No "did you mean": between devices, what is spelt alike is worlds apart ("gpu", "cpu").
Error absent(std::string_view id, std::span<const LaunchPlugin* const> plugins) {
  std::vector<std::string> present;
  std::string missing;
  for (const LaunchPlugin* const plugin : plugins) {
    const auto infos = plugin->enumerate();
    if (!infos || infos->empty()) {
      missing += fmt::format("; {}: {}", plugin->name(), infos ? "none is here" : infos.error().message);
      continue;
    }
    std::ranges::transform(*infos, std::back_inserter(present), &DeviceInfo::id);
  }
  return {ErrorCode::kNotFound, fmt::format("no device '{}' (available: {}{})", id, fmt::join(present, ", "), missing)};
}

/// A device of one family, or why that family has none.
Result<FoundDevice> find_in(const LaunchPlugin& plugin, std::string_view id, std::span<const LaunchPlugin* const> plugins) {
  HONE_ASSIGN(const std::vector<DeviceInfo> present, plugin.enumerate());
  for (const DeviceInfo& info : present) {
    if (info.id == id || plugin.name() == id) {
      return FoundDevice{&plugin, info};
    }
  }
  return absent(id, plugins);
}

/// "; this program also has: cpu", of the other families that are here. Another program, or the runtime library, may have none.
std::string alternatives(const LaunchPlugin& missing, std::span<const LaunchPlugin* const> plugins) {
  std::vector<std::string_view> names;
  for (const LaunchPlugin* const plugin : plugins) {
    if (plugin != &missing && plugin->enumerate().ok()) {
      names.push_back(plugin->name());
    }
  }
  return names.empty() ? "" : fmt::format("; this program also has: {}", fmt::join(names, ", "));
}

}  // namespace

Result<void> LoadedKernel::launch_passes(void* /*stream*/, std::span<void* const> /*arguments*/, std::size_t /*first*/,
                                         std::size_t /*count*/) const {
  throw ContractError("launch_passes of a kernel whose passes do not overlap");
}

Lane LaunchDevice::lane_of(void* /*stream*/) const { return {.stream = thread_index(), .capture = 0}; }

Result<void> LaunchDevice::keep_with_graph(void* /*stream*/, std::shared_ptr<void> /*object*/) const {
  return Error{ErrorCode::kUnavailable, fmt::format("{} captures no graphs", info().id)};
}

Result<void> LaunchDevice::copy_on(void* /*stream*/, void* /*destination*/, const void* /*source*/, std::size_t /*bytes*/) {
  return Error{ErrorCode::kUnavailable, fmt::format("{} does not copy on a stream", info().id)};
}

Result<std::unique_ptr<SideStream>> LaunchDevice::side_stream() {
  return Error{ErrorCode::kUnavailable, fmt::format("{} has no streams beside the application's", info().id)};
}

Result<std::unique_ptr<Compiler>> LaunchPlugin::compiler(const DeviceInfo& info) const {
  return Error{ErrorCode::kUnavailable, fmt::format("this program has no compiler for {}: it launches only code from the store", info.id)};
}

Result<FoundDevice> find_device(std::span<const LaunchPlugin* const> plugins, std::string_view id) {
  const std::string_view family = id.substr(0, id.find(':'));
  for (const LaunchPlugin* const plugin : plugins) {
    if (plugin->name() != family) {
      continue;
    }
    Result<FoundDevice> found = find_in(*plugin, id, plugins);
    if (!found && found.error().code == ErrorCode::kUnavailable) {
      return Error{ErrorCode::kUnavailable, found.error().message + alternatives(*plugin, plugins)};
    }
    return found;
  }
  return absent(id, plugins);
}

Result<FoundDevice> find_best_device(std::span<const LaunchPlugin* const> plugins) {
  std::string reasons;
  for (const std::string_view family : {"cuda", "cpu"}) {
    const auto plugin = std::ranges::find(plugins, family, [](const LaunchPlugin* known) { return known->name(); });
    if (plugin == plugins.end()) {
      continue;
    }
    Result<FoundDevice> found = find_in(**plugin, family, plugins);
    if (found) {
      return found;
    }
    reasons += (reasons.empty() ? "" : "; ") + found.error().message;
  }
  return Error{ErrorCode::kUnavailable, "no device is usable: " + reasons};
}

}  // namespace hone
