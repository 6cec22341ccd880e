#include "cli/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "cli/embedding.hpp"
#include "engine/base/names.hpp"
#include "engine/worker/isolated_plugins.hpp"

namespace hone::cli {
namespace {

namespace fs = std::filesystem;

fs::path installed_folder() {
  std::error_code failed;
  const fs::path binary = fs::read_symlink("/proc/self/exe", failed);
  return failed ? fs::path() : binary.parent_path().parent_path() / "lib" / "hone" / "plugins";
}

/// HONE_PLUGIN_TIMEOUT, in seconds, or what is usual.
std::chrono::milliseconds plugin_timeout() {
  const char* const text = std::getenv("HONE_PLUGIN_TIMEOUT");
  char* end = nullptr;
  const double seconds = text != nullptr ? std::strtod(text, &end) : 0.0;
  constexpr double kMostSeconds = 1e6;
  if (text == nullptr || end == text || *end != '\0' || !(seconds > 0.0 && seconds <= kMostSeconds)) {
    if (text != nullptr && *text != '\0') {
      fmt::print(stderr, "hone: HONE_PLUGIN_TIMEOUT is '{}' but must be a number of seconds above 0; using {}\n", text,
                 kPluginTimeout.count() / 1000);
    }
    return kPluginTimeout;
  }
  return std::max(std::chrono::milliseconds(1), std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3)));
}

/// Not const: files named on the command line come later than the folders.
Registry& mutable_registry() {
  if (Embedding* const host = current_embedding()) {
    return host->registry;
  }
  static Registry assembled = make_registry();
  return assembled;
}

}  // namespace

Registry make_registry() {
  Registry made = make_builtin_registry();
  const char* const path = std::getenv("HONE_PLUGIN_PATH");
  for (const std::string& folders : {std::string(path != nullptr ? path : ""), installed_folder().string()}) {
    for (const Error& error : load_isolated_plugins(made, folders, plugin_timeout())) {
      fmt::print(stderr, "hone: {}\n", error.message);
    }
  }
  return made;
}

const Registry& registry() { return mutable_registry(); }

Result<std::vector<std::string>> load_plugin_file(const fs::path& file) {
  HONE_ASSIGN(LoadedPlugin added, load_isolated_plugin(mutable_registry(), file, plugin_timeout()));
  return std::move(added.strategies);
}

void add_plugin_option(cxxopts::Options& options) {
  options.add_options()("plugin",
                        "a shared object with strategies or devices (repeatable); those in the folders of HONE_PLUGIN_PATH are loaded too",
                        cxxopts::value<std::vector<std::string>>(), "FILE");
}

Result<void> load_plugins(const cxxopts::ParseResult& arguments) {
  if (arguments.count("plugin") > 0) {
    for (const std::string& file : arguments["plugin"].as<std::vector<std::string>>()) {
      HONE_TRY(load_plugin_file(file));
    }
  }
  return {};
}

Result<std::map<std::string, double>> strategy_settings(const StrategyPlugin& strategy, const std::vector<std::string>& settings) {
  std::map<std::string, double> values;
  std::vector<std::string> names;
  for (const StrategyParameter& parameter : strategy.parameters()) {
    names.push_back(parameter.name);
  }
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    const std::string given = setting.substr(0, equals);
    const auto known = std::ranges::find(strategy.parameters(), given, &StrategyParameter::name);
    if (known == strategy.parameters().end()) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("strategy {}: {}", strategy.name(), unknown_name("parameter", given, names))};
    }
    char* end = nullptr;
    const std::string number = equals == std::string::npos ? "" : setting.substr(equals + 1);
    const double value = number == "true" ? 1.0 : number == "false" ? 0.0 : std::strtod(number.c_str(), &end);
    if (number.empty() || (end != nullptr && *end != '\0') || !(value >= known->minimum && value <= known->maximum)) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("strategy {}: {} takes a number from {} to {}, not '{}'", strategy.name(),
                                                            given, known->minimum, known->maximum, number)};
    }
    values[given] = value;
  }
  return values;
}

}  // namespace hone::cli
