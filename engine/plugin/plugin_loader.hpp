#pragma once
// Plugins in shared objects: finding, opening, checking, registering.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plugin/registry.hpp"

namespace hone {

/// Opens a shared object and registers its strategies and devices; it is never closed again. A file that this registry has already is not
/// opened a second time. Each call of a strategy has `patience` to return before it loses its turn, and so have the
/// plugin's entry and a device's enumeration, which are left behind otherwise. Errors (kPlugin, kNotFound), with nothing
/// registered: it cannot be opened, exports no `hone_plugin_entry`, has another ABI version, lacks a function, or names what is registered
/// already.
Result<LoadedPlugin> load_plugin(Registry& registry, const std::filesystem::path& file,
                                 std::chrono::milliseconds patience = std::chrono::seconds(10));

/// Every *.so of the folders, in order of name; `folders` is a list with colons between, as in HONE_PLUGIN_PATH. A folder that does not
/// exist holds none. Returns what could not be loaded: one bad file must not disable every command.
std::vector<Error> load_plugins(Registry& registry, std::string_view folders);

}  // namespace hone
