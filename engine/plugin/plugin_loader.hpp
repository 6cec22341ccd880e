#pragma once
// Plugins in shared objects: finding, opening, checking, registering.

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plugin/registry.hpp"

namespace hone {

/// The time limit of a plugin's function.
inline constexpr std::chrono::milliseconds kPluginTimeout{10'000};

/// Opens a shared object in this process and registers its strategies and devices; it is never closed again. A file that this registry
/// already has is not opened again. `timeout` limits each call of a strategy (which otherwise loses its turn), the plugin's entry and a
/// device's enumeration (which are then abandoned); without it they are called directly, without a limit.
/// `step` is called with "opening it" and with the entry's name before each begins. Errors (kPlugin, kNotFound), with nothing
/// registered: it cannot be opened, exports no `hone_plugin_entry`, has another ABI version, lacks a function, or uses a name that is
/// already registered. (For files that may crash or hang, use load_isolated_plugin.)
Result<LoadedPlugin> load_plugin(Registry& registry, const std::filesystem::path& file,
                                 std::optional<std::chrono::milliseconds> timeout = kPluginTimeout,
                                 const std::function<void(const char*)>& step = nullptr);

/// Loads every *.so of the folders, in order of name; `folders` is colon-separated, as in HONE_PLUGIN_PATH. Missing folders are
/// ignored. Returns the failures, because one bad file must not disable every command.
std::vector<Error> load_plugins(Registry& registry, std::string_view folders);

/// The files that load_plugins loads.
std::vector<std::filesystem::path> plugin_files(std::string_view folders);

/// The contents of a plugin.
struct PluginParts {
  std::vector<std::unique_ptr<StrategyPlugin>> strategies;
  std::vector<std::unique_ptr<DevicePlugin>> devices;
};
/// Registers all of it, or nothing (kPlugin) if a name is taken. `file`: canonical path.
Result<LoadedPlugin> register_plugin(Registry& registry, const std::filesystem::path& file, PluginParts parts);

}  // namespace hone
