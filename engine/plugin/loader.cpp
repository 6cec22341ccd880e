#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>

#include "hone/plugin_loader.hpp"

namespace hone {
namespace {

Error broken(const std::filesystem::path& file, const std::string& what) {
  return Error{ErrorCode::kPlugin, fmt::format("plugin {}: {}", file.string(), what)};
}

Result<const hone_plugin*> open(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    return Error{ErrorCode::kNotFound, fmt::format("plugin {}: there is no such file", file.string())};
  }
  // A path without a slash would be looked up in the system's folders.
  void* const library = ::dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return broken(file, ::dlerror());
  }
  const auto entry = reinterpret_cast<hone_plugin_entry_function>(::dlsym(library, HONE_PLUGIN_ENTRY));
  if (entry == nullptr) {
    return broken(file, "it exports no function " HONE_PLUGIN_ENTRY " (see hone/plugin.h)");
  }
  const hone_plugin* const plugin = entry();
  if (plugin == nullptr) {
    return broken(file, HONE_PLUGIN_ENTRY " returned null");
  }
  if (plugin->abi != HONE_PLUGIN_ABI) {
    return broken(file, fmt::format("it was built for plugin ABI {}, this Hone has ABI {}: build it again with this version's hone/plugin.h",
                                    plugin->abi, HONE_PLUGIN_ABI));
  }
  if (plugin->struct_size < sizeof(hone_plugin)) {
    return broken(file, "its table is shorter than that of ABI version 1");
  }
  return plugin;
}

}  // namespace

Result<std::vector<std::string>> load_plugin(Registry& registry, const std::filesystem::path& file, std::chrono::milliseconds patience) {
  HONE_ASSIGN(const hone_plugin* const plugin, open(file));
  std::vector<std::unique_ptr<StrategyPlugin>> made;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < plugin->strategy_count; ++i) {
    try {
      made.push_back(std::make_unique<StrategyPlugin>(plugin->strategies[i], patience));
    } catch (const ContractError& error) {
      return broken(file, error.what());
    }
    names.emplace_back(made.back()->name());
    if (registry.strategy(names.back()).ok() || std::ranges::count(names, names.back()) > 1) {
      return broken(file, fmt::format("a strategy named '{}' is registered already", names.back()));
    }
  }
  for (auto& strategy : made) {
    registry.add(std::move(strategy));
  }
  return names;
}

std::vector<Error> load_plugins(Registry& registry, std::string_view folders) {
  std::vector<Error> errors;
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
    for (const std::filesystem::path& file : files) {
      if (const auto loaded = load_plugin(registry, file); !loaded) {
        errors.push_back(loaded.error());
      }
    }
  }
  return errors;
}

}  // namespace hone
