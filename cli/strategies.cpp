#include <fmt/format.h>

#include "cli/options.hpp"
#include "cli/present.hpp"
#include "cli/registry.hpp"
#include "cli/verbs.hpp"

namespace hone::cli {
namespace {

std::string_view type_name(StrategyParameter::Type type) {
  switch (type) {
    case StrategyParameter::Type::kReal:
      return "real";
    case StrategyParameter::Type::kInteger:
      return "integer";
    case StrategyParameter::Type::kFlag:
      return "flag";
  }
  return "";
}

Json strategy_json(const StrategyPlugin& strategy) {
  Json object{{"name", strategy.name()}, {"summary", strategy.summary()}, {"reference", strategy.source()}, {"parameters", Json::array()}};
  for (const StrategyParameter& parameter : strategy.parameters()) {
    object["parameters"].push_back({{"name", parameter.name},
                                    {"help", parameter.help},
                                    {"type", type_name(parameter.type)},
                                    {"default", parameter.default_value},
                                    {"minimum", parameter.minimum},
                                    {"maximum", parameter.maximum}});
  }
  return object;
}

std::string description(const StrategyPlugin& strategy) {
  std::string lines = fmt::format("{}: {}\n", strategy.name(), strategy.summary());
  if (!strategy.source().empty()) {
    lines += fmt::format("source: {}\n", strategy.source());
  }
  if (strategy.parameters().empty()) {
    return lines + "no parameters\n";
  }
  std::vector<std::vector<std::string>> rows{{"parameter", "type", "default", "range", ""}};
  for (const StrategyParameter& parameter : strategy.parameters()) {
    rows.push_back({parameter.name, std::string(type_name(parameter.type)), fmt::format("{}", parameter.default_value),
                    fmt::format("{} to {}", parameter.minimum, parameter.maximum), parameter.help});
  }
  return lines + "\n" + table(rows) +
         fmt::format("\nset with: hone tune ... --strategy {0} --set {1}=VALUE, or hone compare ... --strategy {0}:{1}=VALUE\n",
                     strategy.name(), strategy.parameters().front().name);
}

Output list() {
  Output output{.json = {{"strategies", Json::array()}}, .text = ""};
  std::vector<std::vector<std::string>> rows;
  for (const auto& strategy : registry().strategies()) {
    output.json["strategies"].push_back(strategy_json(*strategy));
    rows.push_back({std::string(strategy->name()), std::string(strategy->summary())});
  }
  output.text = table(rows) + "\ndetails: hone strategies NAME\n";
  return output;
}

}  // namespace

int strategies(int argc, char** argv) {
  cxxopts::Options options("hone strategies", "Lists the search strategies, or describes one: its origin and its parameters.");
  options.add_options()("name", "a strategy", cxxopts::value<std::string>());
  add_plugin_option(options);
  options.parse_positional({"name"});
  options.positional_help("[NAME]");
  return run_verb(options, argc, argv, [](const cxxopts::ParseResult& arguments) -> Result<Output> {
    HONE_TRY(load_plugins(arguments));
    if (arguments.count("name") == 0) {
      return list();
    }
    HONE_ASSIGN(const StrategyPlugin* const strategy, registry().strategy(arguments["name"].as<std::string>()));
    return Output{strategy_json(*strategy), description(*strategy)};
  });
}

}  // namespace hone::cli
