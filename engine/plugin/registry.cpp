#include "engine/plugin/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "engine/base/names.hpp"

namespace hone {
namespace {

template <class Plugin>
void add_unique(std::vector<std::unique_ptr<Plugin>>& plugins, std::unique_ptr<Plugin> plugin) {
  for (const auto& known : plugins) {
    if (known->name() == plugin->name()) {
      throw ContractError("a plugin named '" + std::string(plugin->name()) + "' is registered already");
    }
  }
  plugins.push_back(std::move(plugin));
}

template <class Plugin>
std::vector<std::string> names_of(const std::vector<std::unique_ptr<Plugin>>& plugins) {
  std::vector<std::string> names;
  for (const auto& plugin : plugins) {
    names.emplace_back(plugin->name());
  }
  return names;
}

}  // namespace

void Registry::add(std::unique_ptr<DevicePlugin> device) { add_unique(devices_, std::move(device)); }
void Registry::add(std::unique_ptr<StrategyPlugin> strategy) { add_unique(strategies_, std::move(strategy)); }

Result<const StrategyPlugin*> Registry::strategy(std::string_view name) const {
  for (const auto& plugin : strategies_) {
    if (plugin->name() == name) {
      return plugin.get();
    }
  }
  return Error{ErrorCode::kNotFound, unknown_name("strategy", name, names_of(strategies_))};
}

Result<Registry::Found> Registry::found(const FoundDevice& device) const {
  for (const auto& plugin : devices_) {
    if (plugin.get() == device.plugin) {
      return Found{plugin.get(), device.info};
    }
  }
  throw ContractError("a device of a plugin that is not registered");
}

std::vector<const LaunchPlugin*> Registry::launch_plugins() const {
  std::vector<const LaunchPlugin*> plugins;
  std::ranges::transform(devices_, std::back_inserter(plugins), [](const auto& plugin) { return plugin.get(); });
  return plugins;
}

Result<Registry::Found> Registry::device(std::string_view id) const {
  HONE_ASSIGN(const FoundDevice here, find_device(launch_plugins(), id));
  return found(here);
}

Result<Registry::Found> Registry::best_device() const {
  HONE_ASSIGN(const FoundDevice here, find_best_device(launch_plugins()));
  return found(here);
}

}  // namespace hone
