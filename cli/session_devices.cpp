#include "cli/session_devices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/options.hpp"
#include "cli/registry.hpp"
#include "engine/tune/attached_workers.hpp"

namespace hone::cli {
namespace {

constexpr double kWaitSeconds = 60.0;  // for the first worker: what a cluster takes to start it, once it has a place

Result<Registry::Found> as_attached(const DeviceInfo& info) {
  const auto& plugins = registry().devices();
  const auto plugin = std::ranges::find(plugins, info.plugin, [](const auto& one) { return std::string(one->name()); });
  if (plugin == plugins.end()) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("the attached workers measure on a device of the plugin '{}', which is not here: give its "
                             "file with --plugin",
                             info.plugin)};
  }
  Registry::Found found{plugin->get(), info};
  if (const auto compiler = compiler_here(**plugin); compiler && info.compile_overlaps) {
    found.info.environment["compiler"] = *compiler;  // code is made here, or by the same elsewhere
  }
  return found;
}

}  // namespace

void add_workers_option(cxxopts::Options& options) {
  options.add_options()(
      "workers",
      "workers that are attached to the store (hone serve-trials) take part; without --device, they alone. =PRODUCT, a part "
      "of a product's name, says which ones where they differ",
      cxxopts::value<std::string>()->implicit_value(""), "PRODUCT");
}

Result<SessionDevices> find_session_devices(const cxxopts::ParseResult& arguments, const std::string& otherwise) {
  SessionDevices chosen;
  if (arguments.count("workers") > 0) {
    chosen.workers = store_path(arguments).string();
    chosen.own = arguments.count("device") > 0;
  }
  if (chosen.own) {
    HONE_ASSIGN(chosen.devices, find_devices(arguments, otherwise));
    return chosen;
  }
  HONE_ASSIGN(const DeviceInfo info, attached_device(*chosen.workers, arguments["workers"].as<std::string>(), kWaitSeconds, {}));
  HONE_ASSIGN(Registry::Found found, as_attached(info));
  chosen.devices.push_back(std::move(found));
  return chosen;
}

void set_devices(TuneRequest& request, const SessionDevices& chosen) {
  request.device = chosen.devices.front();
  std::ranges::transform(chosen.devices.begin() + 1, chosen.devices.end(), std::back_inserter(request.more_devices),
                         &Registry::Found::info);
  request.workers = chosen.workers;
  request.own_devices = chosen.own;
}

}  // namespace hone::cli
