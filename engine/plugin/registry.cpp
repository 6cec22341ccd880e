#include "engine/plugin/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

/// What is here in place of a device that is not. No "did you mean": between devices, what is spelt alike is worlds apart ("gpu", "cpu").
Error absent(std::string_view id, const std::vector<std::unique_ptr<DevicePlugin>>& devices) {
  std::vector<std::string> present;
  std::string missing;
  for (const auto& plugin : devices) {
    const auto infos = plugin->enumerate();
    if (!infos || infos->empty()) {
      missing += fmt::format("; {}: {}", plugin->name(), infos ? "none is here" : infos.error().message);
      continue;
    }
    std::ranges::transform(*infos, std::back_inserter(present), &DeviceInfo::id);
  }
  return {ErrorCode::kNotFound, fmt::format("there is no device '{}' (here: {}{})", id, fmt::join(present, ", "), missing)};
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

Result<Registry::Found> Registry::device(std::string_view id) const {
  const std::string_view family = id.substr(0, id.find(':'));
  for (const auto& plugin : devices_) {
    if (plugin->name() != family) {
      continue;
    }
    HONE_ASSIGN(const std::vector<DeviceInfo> present, plugin->enumerate());
    for (const DeviceInfo& info : present) {
      if (info.id == id || family == id) {
        return Found{plugin.get(), info};
      }
    }
  }
  return absent(id, devices_);
}

Result<Registry::Found> Registry::best_device() const {
  std::string reasons;
  for (const std::string_view family : {"cuda", "cpu"}) {
    Result<Found> found = device(family);
    if (found) {
      return found;
    }
    reasons += (reasons.empty() ? "" : "; ") + found.error().message;
  }
  return Error{ErrorCode::kUnavailable, "no device is usable: " + reasons};
}

}  // namespace hone
