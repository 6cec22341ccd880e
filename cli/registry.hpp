#pragma once
// What this process has to search with and to run on: the built-in strategies and devices and those of plugins.

#include <cxxopts.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/plugin/registry.hpp"

namespace hone::cli {

/// The built-in devices and strategies and the plugins of the folders in HONE_PLUGIN_PATH and of ../lib/hone/plugins beside the binary.
/// What cannot be loaded from there is said on standard error; it stops nothing. Plugins run in processes of their own, and have
/// HONE_PLUGIN_TIMEOUT seconds (10) for each call.
Registry make_registry();
/// That of this process; inside another program, of the Embedding.
const Registry& registry();

/// Adds the strategies and devices of a shared object to registry(). Returns the strategies' names, also when it has been loaded before.
Result<std::vector<std::string>> load_plugin_file(const std::filesystem::path& file);

/// --plugin FILE, repeatable.
void add_plugin_option(cxxopts::Options& options);
Result<void> load_plugins(const cxxopts::ParseResult& arguments);

/// "name=value" settings of a strategy. Errors: a parameter it does not declare, no number, a number out of range.
Result<std::map<std::string, double>> strategy_settings(const StrategyPlugin& strategy, const std::vector<std::string>& settings);

}  // namespace hone::cli
