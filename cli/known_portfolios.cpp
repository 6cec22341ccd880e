#include "cli/known_portfolios.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "cli/operations.hpp"
#include "engine/base/names.hpp"
#include "engine/kernel/builtin_kernels.hpp"
#include "engine/store/shipped_portfolios.hpp"

namespace hone::cli {
namespace {

using Names = std::vector<std::string>;

/// Something that was asked for, and whether a portfolio is so.
struct Filter {
  std::string text;
  std::function<bool(const KnownPortfolio&)> fits;
};

std::vector<Filter> filters_of(const PortfolioSelection& selection) {
  const cxxopts::ParseResult& arguments = selection.arguments;
  std::vector<Filter> all;
  if (const Names& names = selection.operations; !names.empty()) {
    all.push_back({fmt::format("{}", fmt::join(names, " or ")),
                   [names](const KnownPortfolio& one) { return std::ranges::find(names, one.portfolio.operation) != names.end(); }});
  }
  const auto add = [&](const std::string& option, const std::function<std::string(const KnownPortfolio&)>& value) {
    if (arguments.count(option) > 0) {
      const auto wanted = arguments[option].as<std::string>();
      all.push_back({fmt::format("--{} '{}'", option, wanted), [=](const KnownPortfolio& one) { return value(one) == wanted; }});
    }
  };
  add("dtype", [](const KnownPortfolio& one) { return one.portfolio.dtypes; });
  add("product", [](const KnownPortfolio& one) { return one.portfolio.product; });
  add("range", [](const KnownPortfolio& one) { return text(one.portfolio.range); });
  if (arguments.count("generation") > 0) {
    const auto generation = arguments["generation"].as<std::int64_t>();
    all.push_back({fmt::format("--generation {}", generation), [=](const KnownPortfolio& one) { return one.generation == generation; }});
  }
  return all;
}

}  // namespace

void add_portfolio_selection(cxxopts::Options& options) {
  options.add_options()("operations", "operations or kernels (default: all)", cxxopts::value<Names>(), "NAME ...")(
      "dtype", "only those of these dtypes", cxxopts::value<std::string>(), "DTYPE")(
      "product", "only those for this product, named as hone portfolios lists it", cxxopts::value<std::string>(), "PRODUCT")(
      "range", "only those of this range, as hone portfolios lists it", cxxopts::value<std::string>(), "RANGE")(
      "generation", "only the one of this generation of the store (0: those that came with Hone)", cxxopts::value<std::int64_t>(), "N");
  options.parse_positional({"operations"});
  options.positional_help(
      "[OPERATION|FILE ...]\n\n  FILE: a kernel file, for the portfolios of its kernel or of the operation that it implements");
  add_with_option(options);
  add_flag_options(options);
}

Result<PortfolioSelection> selection_of(const cxxopts::ParseResult& arguments) {
  PortfolioSelection selection{arguments, {}, {}};
  const Names names = arguments.count("operations") > 0 ? arguments["operations"].as<Names>() : Names(), with = with_files(arguments);
  Names files;
  std::ranges::copy_if(names, std::back_inserter(files), is_file);
  files.insert(files.end(), with.begin(), with.end());
  HONE_ASSIGN(selection.own, read_files(files, arguments));
  auto own = selection.own.begin();
  for (const std::string& name : names) {
    selection.operations.push_back(is_file(name) ? operation_of(*own++) : name);
  }
  for (const std::string& file : with) {
    if ((own++)->operation.empty()) {
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("{0} implements no operation, OPERATION(NAME), beside other kernels: name {0} itself, without --with", file)};
    }
  }
  return selection;
}

bool is_wanted(const PortfolioSelection& selection, const KnownPortfolio& one) {
  return std::ranges::all_of(filters_of(selection), [&](const Filter& filter) { return filter.fits(one); });
}

bool selects(const PortfolioSelection& selection) { return !filters_of(selection).empty(); }

Result<void> check_operations(const PortfolioSelection& selection, Names known) {
  std::ranges::transform(selection.own, std::back_inserter(known), [](const KernelSpec& spec) { return operation_of(spec); });
  std::ranges::copy(builtin_operations(), std::back_inserter(known));
  for (const EmbeddedKernel& kernel : embedded_kernels()) {
    known.emplace_back(kernel.name);
  }
  std::ranges::sort(known);
  known.erase(std::ranges::unique(known).begin(), known.end());
  for (const std::string& name : selection.operations) {
    if (std::ranges::find(known, name) == known.end()) {
      return Error{ErrorCode::kNotFound, unknown_name("operation", name, known)};
    }
  }
  return {};
}

Result<std::vector<KnownPortfolio>> known_portfolios(const PortfolioSelection& selection, Store* store, std::size_t& unreadable) {
  std::vector<KnownPortfolio> all;
  Names operations;
  if (store != nullptr) {
    HONE_ASSIGN(const std::vector<StoredPortfolio> stored, store->portfolios());
    for (const StoredPortfolio& one : stored) {
      operations.push_back(one.key.operation);
      Result<Portfolio> portfolio = parse_portfolio(one.text);
      if (portfolio) {
        all.push_back({std::move(portfolio).value(), one.generation, one.text, one.key});
      }
      unreadable += portfolio ? 0 : 1;
    }
  }
  for (const std::string& text : shipped_portfolio_texts()) {
    HONE_ASSIGN(Portfolio portfolio, parse_portfolio(text));
    all.push_back({std::move(portfolio), 0, text});
  }
  HONE_TRY(check_operations(selection, std::move(operations)));
  std::string before;  // what those fit that are left
  for (const Filter& filter : filters_of(selection)) {
    std::erase_if(all, [&](const KnownPortfolio& one) { return !filter.fits(one); });
    if (all.empty()) {
      return Error{ErrorCode::kNotFound, fmt::format("no such portfolio: none{} is of {}; hone portfolios lists what there is",
                                                     before.empty() ? "" : " of those of " + before, filter.text)};
    }
    before += (before.empty() ? "" : ", ") + filter.text;
  }
  return all;
}

Result<Operation> operation_or_kernel(const std::string& name, std::span<const KernelSpec* const> own) {
  if (Result<Operation> operation = find_operation(name, own)) {
    return operation;
  }
  HONE_ASSIGN(const KernelSpec* const spec, find_builtin_kernel(name));
  return Operation{name, {spec}, spec};
}

bool is_current(const Portfolio& portfolio, const std::deque<KernelSpec>& own) {
  return std::ranges::all_of(portfolio.sources, [&](const auto& source) {
    if (const auto file = std::ranges::find(own, source.first, &KernelSpec::name); file != own.end()) {
      return file->source_hash == source.second;
    }
    const Result<const KernelSpec*> spec = find_builtin_kernel(source.first);
    return !spec || (*spec)->source_hash == source.second;  // of a file that was not named nothing is known
  });
}

}  // namespace hone::cli
