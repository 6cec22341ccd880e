// hone warm: the code of portfolios, made ahead of time.
#include "engine/tune/warm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/known_portfolios.hpp"
#include "cli/operations.hpp"
#include "cli/output.hpp"
#include "cli/registry.hpp"
#include "cli/run_verb.hpp"
#include "cli/verbs.hpp"
#include "engine/store/portfolio_lookup.hpp"
#include "engine/store/shipped_portfolios.hpp"
#include "engine/store/store_server.hpp"

namespace hone::cli {
namespace {

void add_warmed(Output& output, const Portfolio& portfolio, const std::string& dtypes, const std::string& made_for,
                const WarmReport& report) {
  output.json["portfolios"].push_back({{"operation", portfolio.operation},
                                       {"dtype", dtypes},
                                       {"product", portfolio.product},
                                       {"made_for", made_for},
                                       {"member_count", report.members},
                                       {"compiled", report.compiled},
                                       {"failures", report.failures}});
  output.text +=
      fmt::format("{} {}{}: {} configurations, {} compiled now\n", portfolio.operation, dtypes,
                  made_for.empty() ? "" : fmt::format(", of the portfolio made for {}", made_for), report.members, report.compiled);
  for (const std::string& failure : report.failures) {
    output.text += fmt::format("  {}\n", failure.substr(0, failure.find('\n')));
  }
  output.exit_code = report.failures.empty() ? output.exit_code : 1;
}

/// --shape: what may serve such problems. Extents that are not given may be any.
Result<Output> warm_for(const PortfolioSelection& wanted, const Registry::Found& device) {
  const cxxopts::ParseResult& arguments = wanted.arguments;
  const std::vector<std::string>& names = wanted.operations;
  if (names.size() != 1) {
    return Error{ErrorCode::kInvalidArgument, "--shape is of one operation: hone warm matmul --dtype f16 --shape layout=2"};
  }
  if (arguments.count("product") + arguments.count("range") + arguments.count("generation") > 0) {
    return Error{ErrorCode::kInvalidArgument,
                 "--shape finds the portfolios that serve such problems: leave out --product, --range and --generation"};
  }
  HONE_TRY(check_operations(wanted));
  HONE_ASSIGN(const Operation operation, operation_or_kernel(names.front(), pointers(wanted.own)));
  const KernelSpec& definition = *operation.definition;
  HONE_ASSIGN(const DTypes dtypes, choose_dtypes(definition, arguments.count("dtype") > 0 ? arguments["dtype"].as<std::string>() : ""));
  HONE_ASSIGN(const Shape given, parse_shape(definition, arguments["shape"].as<std::string>()));
  HONE_ASSIGN(const Problem problem, make_problem(definition, dtypes, given));
  HONE_ASSIGN(const std::vector<Implementation> implementations, implementations_for(operation, problem));
  HONE_ASSIGN(const std::unique_ptr<Store> existing, open_existing_store(arguments));
  std::string why;
  HONE_ASSIGN(const std::vector<Portfolio> all, portfolios_for(operation.name, implementations, given, device.info, existing.get(), why));
  Output output{
      {{"device", device.info.id}, {"product", device.info.product}, {"portfolios", Json::array()}, {"skipped", Json::array()}}, "", 0};
  std::unique_ptr<Store> store;  // made only for code that comes into it
  if (!all.empty()) {
    HONE_ASSIGN(store, open_store(store_path(arguments), StoreMode::kReadWrite));
  }
  for (const Portfolio& portfolio : all) {
    HONE_ASSIGN(const WarmReport report, warm(portfolio, operation, problem, given, device, *store, 0));
    if (report.members > 0) {
      add_warmed(output, portfolio, name(dtypes), difference_text(portfolio, dtypes, with_any(portfolio.range, problem.shape, given)),
                 report);
    }
  }
  if (output.json["portfolios"].empty()) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("no portfolio serves {} {} {} on {}: hone tune {} --dtype {} --shapes ... makes one{}", operation.name,
                             name(dtypes), text(given), device.info.product, operation.name, name(dtypes), why.empty() ? "" : "; " + why)};
  }
  return output;
}

/// What is wanted of the portfolios that serve a device, those of the store first.
std::vector<Portfolio> serving(const PortfolioSelection& selection, std::vector<KnownPortfolio> known, const DeviceInfo& device) {
  std::vector<Portfolio> all;
  for (KnownPortfolio& one : known) {
    if (one.generation != 0 && one.portfolio.product == portfolio_key("", DTypes(), device).device) {
      all.push_back(std::move(one.portfolio));
    }
  }
  for (const std::shared_ptr<const LoadedPortfolio>& one : shipped_portfolios(device)) {
    if (is_wanted(selection, {one->portfolio(), 0, ""})) {
      all.push_back(one->portfolio());
    }
  }
  return all;
}

Result<Output> warm_all(const cxxopts::ParseResult& arguments) {
  HONE_TRY(load_plugins(arguments));
  HONE_ASSIGN(const Registry::Found device, find_device(arguments));
  HONE_ASSIGN(const PortfolioSelection selection, selection_of(arguments));
  if (arguments.count("shape") > 0) {
    return warm_for(selection, device);
  }
  HONE_ASSIGN(const std::unique_ptr<Store> existing, open_existing_store(arguments));
  std::size_t unreadable = 0;
  HONE_ASSIGN(std::vector<KnownPortfolio> known, known_portfolios(selection, existing.get(), unreadable));
  const std::vector<Portfolio> all = serving(selection, std::move(known), device.info);
  Output output{
      {{"device", device.info.id}, {"product", device.info.product}, {"portfolios", Json::array()}, {"skipped", Json::array()}}, "", 0};
  if (all.empty()) {  // of those that were asked for that is an error; a device need not have any
    const std::string none = fmt::format(
        "no such portfolio is for {}; hone portfolios lists what there is, and hone tune OPERATION --shapes "
        "... makes one",
        device.info.product);
    output.text = none + "\n";
    return selects(selection) ? Result<Output>(Error{ErrorCode::kNotFound, none}) : std::move(output);
  }
  HONE_ASSIGN(const std::unique_ptr<Store> store, open_store(store_path(arguments), StoreMode::kReadWrite));
  std::vector<std::string> skipped;
  for (const std::string& name : selection.operations) {
    if (std::ranges::none_of(all, [&](const Portfolio& one) { return one.operation == name; })) {
      skipped.push_back(fmt::format("{}: no such portfolio is for {}", name, device.info.product));
    }
  }
  for (const Portfolio& portfolio : all) {
    const Result<Operation> operation = operation_or_kernel(portfolio.operation, pointers(selection.own));
    if (!operation) {
      skipped.push_back(fmt::format("{} {}: of kernel files: name one, and the others by --with: hone warm FILE --with FILE",
                                    portfolio.operation, portfolio.dtypes));
      continue;
    }
    for (const auto& [kernel, hash] : portfolio.sources) {
      if (std::ranges::find(operation->implementations, kernel, [](const KernelSpec* one) -> const std::string& { return one->name; }) ==
          operation->implementations.end()) {
        skipped.push_back(fmt::format("{0} {1}: members of {2}, of a kernel file that was not named: --with FILE", portfolio.operation,
                                      portfolio.dtypes, kernel));
      }
    }
    HONE_ASSIGN(const WarmReport report, warm(portfolio, *operation, device, *store, 0));
    add_warmed(output, portfolio, portfolio.dtypes, "", report);
  }
  const bool is_in_vain = !selection.operations.empty() && output.json["portfolios"].empty();
  output.exit_code = is_in_vain ? 1 : output.exit_code;
  output.json["skipped"] = skipped;
  for (const std::string& one : skipped) {
    output.text += one + "\n";
  }
  return output;
}

}  // namespace

int warm_up(int argc, char** argv) {
  cxxopts::Options options("hone warm",
                           "Compiles the configurations of a device's portfolios into the store, so that no program waits for a "
                           "compiler.\nSkips those that the store has.");
  add_portfolio_selection(options);
  add_store_option(options);
  add_plugin_option(options);
  options.add_options()("device", "cuda:0, cpu, ... (default: the best present)", cxxopts::value<std::string>(), "ID")(
      "shape",
      "of one operation: what serves such problems, of --dtype and with these STATIC fields, also where it was made for similar ones",
      cxxopts::value<std::string>(), "SHAPE");
  return run_verb(options, argc, argv, warm_all);
}

}  // namespace hone::cli
