#include "cli/tune_request.hpp"

#include "cli/registry.hpp"

namespace hone::cli {

void add_search_options(cxxopts::Options& options) {
  options.add_options()("budget", "30s, 5m, 200trials, or two joined by a comma", cxxopts::value<std::string>()->default_value("60s"),
                        "BUDGET")("seed", "seed of the search and of the inputs", cxxopts::value<std::uint64_t>()->default_value("0"), "N")(
      "strategy", "how to search", cxxopts::value<std::string>()->default_value("auto"), "NAME")(
      "set", "a parameter of the strategy (repeatable)", cxxopts::value<std::vector<std::string>>(), "NAME=VALUE")(
      "likely",
      "use of the kernel's expectations: first (likely configurations first, then all legal ones), only (likely ones only), ignore",
      cxxopts::value<std::string>()->default_value("first"),
      "USE")("compile-workers", "compile processes (0: one per core)", cxxopts::value<std::uint16_t>()->default_value("0"), "N")(
      "no-transfer", "do not use the store's data from other sessions, shapes, dtypes and devices")(
      "fresh", "start a new session even if one can be resumed");
}

Result<TuneRequest> find_search(const cxxopts::ParseResult& arguments) {
  TuneRequest request;
  request.strategy = arguments["strategy"].as<std::string>();
  HONE_ASSIGN(const StrategyPlugin* const strategy, registry().strategy(request.strategy));
  HONE_ASSIGN(request.strategy_parameters,
              strategy_settings(*strategy,
                                arguments.count("set") > 0 ? arguments["set"].as<std::vector<std::string>>() : std::vector<std::string>()));
  HONE_ASSIGN(request.budget, parse_budget(arguments["budget"].as<std::string>()));
  HONE_ASSIGN(request.likely, parse_likely(arguments["likely"].as<std::string>()));
  request.seed = arguments["seed"].as<std::uint64_t>();
  request.resume = arguments.count("fresh") == 0;
  request.transfer = arguments.count("no-transfer") == 0;
  HONE_ASSIGN(request.measure, find_timing(arguments));
  HONE_ASSIGN(request.measure.max_error, find_accuracy(arguments));
  HONE_ASSIGN(const Objective objective, find_objective(arguments));
  request.measure = settings_for(objective, request.measure);
  request.compile_workers = arguments["compile-workers"].as<std::uint16_t>();
  return request;
}

}  // namespace hone::cli
