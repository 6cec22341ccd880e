#include "engine/plugin/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "engine/base/names.hpp"
#include "engine/device/device_key.hpp"

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

/// Errors: one is named twice, or is of another product than the first.
Result<void> check_together(const std::vector<Registry::Found>& all, std::string_view ids) {
  const Registry::Found& first = all.front();
  for (auto one = all.begin() + 1; one != all.end(); ++one) {
    if (std::any_of(all.begin(), one, [one](const Registry::Found& before) { return before.info.id == one->info.id; })) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("'{}' names {} twice", ids, one->info.id)};
    }
    const std::string different =
        one->plugin == first.plugin ? difference(first.info, one->info) : fmt::format("{} and {}", first.info.product, one->info.product);
    if (!different.empty()) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("{} and {} are different devices ({}): a session tunes for one product; run one "
                               "for each",
                               first.info.id, one->info.id, different)};
    }
  }
  return {};
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

Result<std::vector<Registry::Found>> Registry::family(std::string_view name) const {
  HONE_ASSIGN(const Found first, device(name));  // says why there is none
  HONE_ASSIGN(const std::vector<DeviceInfo> infos, first.plugin->enumerate());
  std::vector<Found> all;
  for (const DeviceInfo& info : infos) {
    all.push_back({first.plugin, info});
  }
  return all;
}

Result<std::vector<Registry::Found>> Registry::devices(std::string_view ids) const {
  constexpr std::string_view kAll = ":*";
  std::vector<Found> all;
  for (std::size_t begin = 0; begin <= ids.size();) {
    const std::string_view id = ids.substr(begin, ids.find(',', begin) - begin);
    begin += id.size() + 1;
    if (id.ends_with(kAll)) {
      HONE_ASSIGN(std::vector<Found> some, family(id.substr(0, id.size() - kAll.size())));
      std::ranges::move(some, std::back_inserter(all));
    } else {
      HONE_ASSIGN(Found one, device(id));
      all.push_back(std::move(one));
    }
  }
  HONE_TRY(check_together(all, ids));
  return all;
}

Result<Registry::Found> Registry::best_device() const {
  HONE_ASSIGN(const FoundDevice here, find_best_device(launch_plugins()));
  return found(here);
}

}  // namespace hone
