#include <fmt/format.h>

#include "cli/options.hpp"
#include "cli/present.hpp"
#include "cli/registry.hpp"
#include "cli/verbs.hpp"

namespace hone::cli {

int devices(int argc, char** argv) {
  cxxopts::Options options("hone devices", "Lists the devices of this machine, and why others are missing.");
  add_plugin_option(options);
  return run_verb(options, argc, argv, [](const cxxopts::ParseResult& arguments) -> Result<Output> {
    HONE_TRY(load_plugins(arguments));
    Output output{.json = {{"devices", Json::array()}, {"missing", Json::array()}}, .text = ""};
    std::vector<std::vector<std::string>> rows;
    for (const auto& plugin : registry().devices()) {
      const auto present = plugin->enumerate();
      if (!present) {
        output.json["missing"].push_back({{"plugin", plugin->name()}, {"reason", present.error().message}});
        rows.push_back({std::string(plugin->name()), "not usable: " + present.error().message});
        continue;
      }
      for (const DeviceInfo& info : *present) {
        output.json["devices"].push_back({{"id", info.id},
                                          {"product", info.product},
                                          {"architecture", info.architecture},
                                          {"uuid", info.uuid},
                                          {"properties", info.properties},
                                          {"environment", info.environment}});
        rows.push_back({info.id, fmt::format("{}{}{}", info.product, info.architecture.empty() ? "" : ", ", info.architecture)});
      }
    }
    output.text = table(rows);
    return output;
  });
}

}  // namespace hone::cli
