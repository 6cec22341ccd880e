#include "engine/device/launch_device.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string>

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

}  // namespace

Result<void> LoadedKernel::launch_passes(void* /*stream*/, std::span<void* const> /*arguments*/, std::size_t /*first*/,
                                         std::size_t /*count*/) const {
  throw ContractError("launch_passes of a kernel whose passes do not overlap");
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
    HONE_ASSIGN(const std::vector<DeviceInfo> present, plugin->enumerate());
    for (const DeviceInfo& info : present) {
      if (info.id == id || family == id) {
        return FoundDevice{plugin, info};
      }
    }
  }
  return absent(id, plugins);
}

Result<FoundDevice> find_best_device(std::span<const LaunchPlugin* const> plugins) {
  std::string reasons;
  for (const std::string_view family : {"cuda", "cpu"}) {
    const bool is_known = std::ranges::any_of(plugins, [=](const LaunchPlugin* plugin) { return plugin->name() == family; });
    if (!is_known) {
      continue;
    }
    Result<FoundDevice> found = find_device(plugins, family);
    if (found) {
      return found;
    }
    reasons += (reasons.empty() ? "" : "; ") + found.error().message;
  }
  return Error{ErrorCode::kUnavailable, "no device is usable: " + reasons};
}

}  // namespace hone
