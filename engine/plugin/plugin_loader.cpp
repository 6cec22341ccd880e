#include "engine/plugin/plugin_loader.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "engine/plugin/call_with_timeout.hpp"
#include "engine/plugin/device_plugin.hpp"
#include "engine/plugin/guarded.hpp"
#include "engine/plugin/table.hpp"

namespace hone {

using plugin_host::normalized;

namespace {

Error broken(const std::filesystem::path& file, const std::string& what) {
  return Error{ErrorCode::kPlugin, fmt::format("plugin {}: {}", file.string(), what)};
}

/// What the entry function gave, or why it gave nothing.
struct Entered {
  const hone_plugin* plugin = nullptr;
  std::optional<plugin_host::Failure> thrown;
};

using Timeout = std::optional<std::chrono::milliseconds>;

Entered enter(hone_plugin_entry_function entry) {
  Entered made;
  made.thrown = plugin_host::guarded([&](hone_message*) {
    made.plugin = entry();
    return 0;
  });
  return made;
}

Result<hone_plugin> open(const std::filesystem::path& file, Timeout timeout, const std::function<void(const char*)>& step) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    return Error{ErrorCode::kNotFound, fmt::format("plugin {}: no such file", file.string())};
  }
  step("opening it");
  // A path without a slash would be looked up in the system's folders.
  void* const library = ::dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return broken(file, ::dlerror());
  }
  const auto entry = reinterpret_cast<hone_plugin_entry_function>(::dlsym(library, HONE_PLUGIN_ENTRY));
  if (entry == nullptr) {
    return broken(file, "it exports no function " HONE_PLUGIN_ENTRY " (see hone/plugin.h)");
  }
  step(HONE_PLUGIN_ENTRY);
  const std::optional<Entered> entered =
      timeout ? plugin_host::CallWithTimeout::ask<Entered>([entry] { return enter(entry); }, *timeout) : enter(entry);
  if (!entered) {
    return broken(file, fmt::format(HONE_PLUGIN_ENTRY " did not return within {} ms", timeout->count()));
  }
  const hone_plugin* const plugin = entered->plugin;
  if (entered->thrown || plugin == nullptr) {
    return broken(file, entered->thrown ? HONE_PLUGIN_ENTRY " failed: " + entered->thrown->message : HONE_PLUGIN_ENTRY " returned null");
  }
  if (plugin->abi < HONE_PLUGIN_ABI_OLDEST || plugin->abi > HONE_PLUGIN_ABI) {
    return broken(
        file, fmt::format("it was built for plugin ABI {}; this Hone supports ABI {} to {}: rebuild it with this version's hone/plugin.h",
                          plugin->abi, HONE_PLUGIN_ABI_OLDEST, HONE_PLUGIN_ABI));
  }
  if (!HONE_HAS(hone_plugin, plugin, strategy_count)) {
    return broken(file, fmt::format("its table, of {} bytes, lacks strategy_count", plugin->struct_size));
  }
  return normalized(*plugin);
}

/// The tables of one kind, none of them missing.
template <class Table>
std::span<const Table* const> tables(const Table* const* first, std::size_t count, const char* kind) {
  if (count > 0 && (first == nullptr || std::find(first, first + count, nullptr) != first + count)) {
    throw ContractError(fmt::format("it declares {} {} tables, one of which is null", count, kind));
  }
  return {first, count};
}

/// Throws ContractError where a table is not whole.
PluginParts parts_of(const hone_plugin& plugin, const std::filesystem::path& file, Timeout timeout) {
  PluginParts parts;
  for (const hone_strategy* const table : tables(plugin.strategies, plugin.strategy_count, "strategy")) {
    parts.strategies.push_back(std::make_unique<StrategyPlugin>(table, timeout, plugin.abi));
  }
  const auto text = [](const char* given) { return given != nullptr ? given : ""; };
  const std::string version = fmt::format("{} {}", text(plugin.name), text(plugin.version));
  for (const hone_device* const table : tables(plugin.devices, plugin.device_count, "device")) {
    parts.devices.push_back(plugin_host::make_device_plugin(table, version, std::filesystem::absolute(file), timeout));
  }
  return parts;
}

/// Whether every name is new, to the registry and within the plugin.
template <class Plugin>
Result<void> check_new(const std::vector<std::unique_ptr<Plugin>>& known, const std::vector<std::unique_ptr<Plugin>>& added,
                       const char* kind, const std::filesystem::path& file) {
  for (const auto& plugin : added) {
    const auto same = [&](const auto& other) { return other->name() == plugin->name(); };
    if (std::ranges::any_of(known, same) || std::ranges::count_if(added, same) > 1) {
      return broken(file, fmt::format("a {} named '{}' is registered already", kind, plugin->name()));
    }
  }
  return {};
}

}  // namespace

Result<LoadedPlugin> register_plugin(Registry& registry, const std::filesystem::path& file, PluginParts parts) {
  HONE_TRY(check_new(registry.strategies(), parts.strategies, "strategy", file));
  HONE_TRY(check_new(registry.devices(), parts.devices, "device", file));
  LoadedPlugin loaded;
  for (auto& strategy : parts.strategies) {
    loaded.strategies.emplace_back(strategy->name());
    registry.add(std::move(strategy));
  }
  for (auto& device : parts.devices) {
    loaded.devices.emplace_back(device->name());
    registry.add(std::move(device));
  }
  registry.add(file, loaded);
  return loaded;
}

Result<LoadedPlugin> load_plugin(Registry& registry, const std::filesystem::path& file, Timeout timeout,
                                 const std::function<void(const char*)>& step) {
  std::error_code missing;
  const std::filesystem::path canonical = std::filesystem::weakly_canonical(file, missing);
  if (const auto known = registry.files().find(canonical); known != registry.files().end()) {
    return known->second;
  }
  HONE_ASSIGN(const hone_plugin plugin, open(
                                            file, timeout, step ? step : [](const char*) {}));
  PluginParts parts;
  try {
    parts = parts_of(plugin, file, timeout);
  } catch (const ContractError& error) {
    return broken(file, error.what());
  }
  return register_plugin(registry, canonical, std::move(parts));
}

std::vector<std::filesystem::path> plugin_files(std::string_view folders) {
  std::vector<std::filesystem::path> all;
  while (!folders.empty()) {
    const std::string_view folder = folders.substr(0, folders.find(':'));
    folders.remove_prefix(std::min(folders.size(), folder.size() + 1));
    std::error_code missing;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
      if (entry.path().extension() == ".so") {
        files.push_back(entry.path());
      }
    }
    std::ranges::sort(files);
    all.insert(all.end(), files.begin(), files.end());
  }
  return all;
}

std::vector<Error> load_plugins(Registry& registry, std::string_view folders) {
  std::vector<Error> errors;
  for (const std::filesystem::path& file : plugin_files(folders)) {
    if (const auto loaded = load_plugin(registry, file); !loaded) {
      errors.push_back(loaded.error());
    }
  }
  return errors;
}

}  // namespace hone
