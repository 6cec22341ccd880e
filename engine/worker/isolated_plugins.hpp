#pragma once
// Plugins from files, each in processes of its own: what they do there costs them their turns, or their listing.

#include <chrono>
#include <filesystem>
#include <string_view>
#include <vector>

#include "engine/plugin/plugin_loader.hpp"
#include "engine/plugin/registry.hpp"

namespace hone {

/// As load_plugin, but a worker opens the shared object and says what it holds. Its strategies run in workers. Its devices are enumerated
/// in one; this process opens the object where it opens such a device or its compiler itself, and not before. Errors as those of
/// load_plugin, and kPlugin for an object that crashes, exits or does not return in time, with the function and the cause.
Result<LoadedPlugin> load_isolated_plugin(Registry& registry, const std::filesystem::path& file,
                                          std::chrono::milliseconds timeout = kPluginTimeout);

/// As load_plugins.
std::vector<Error> load_isolated_plugins(Registry& registry, std::string_view folders, std::chrono::milliseconds timeout = kPluginTimeout);

}  // namespace hone
