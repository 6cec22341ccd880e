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

/// What a function of a plugin has to return in.
inline constexpr std::chrono::milliseconds kPluginTimeout{10'000};

/// Opens a shared object in this process and registers its strategies and devices; it is never closed again. A file that this registry has
/// already is not opened a second time. Each call of a strategy has `timeout` to return before it loses its turn, and so have the
/// plugin's entry and a device's enumeration, which are left behind otherwise; without one they are called directly and may take as long as
/// they like. `step` hears of "opening it" and of the entry's name before either begins. Errors (kPlugin, kNotFound), with nothing
/// registered: it cannot be opened, exports no `hone_plugin_entry`, has another ABI version, lacks a function, or names what is registered
/// already. (A file that nobody vouches for: load_isolated_plugin.)
Result<LoadedPlugin> load_plugin(Registry& registry, const std::filesystem::path& file,
                                 std::optional<std::chrono::milliseconds> timeout = kPluginTimeout,
                                 const std::function<void(const char*)>& step = nullptr);

/// Every *.so of the folders, in order of name; `folders` is a list with colons between, as in HONE_PLUGIN_PATH. A folder that does not
/// exist holds none. Returns what could not be loaded: one bad file must not disable every command.
std::vector<Error> load_plugins(Registry& registry, std::string_view folders);

/// The files that load_plugins loads.
std::vector<std::filesystem::path> plugin_files(std::string_view folders);

/// What a plugin registers.
struct PluginParts {
  std::vector<std::unique_ptr<StrategyPlugin>> strategies;
  std::vector<std::unique_ptr<DevicePlugin>> devices;
};
/// All of it, or nothing and kPlugin where a name is taken. `file`: canonical.
Result<LoadedPlugin> register_plugin(Registry& registry, const std::filesystem::path& file, PluginParts parts);

}  // namespace hone
