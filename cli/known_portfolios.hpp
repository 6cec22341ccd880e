#pragma once
// The portfolios of a store and those that came with Hone, as verbs choose among them.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "engine/kernel/operation.hpp"
#include "engine/store/portfolio.hpp"
#include "engine/store/store.hpp"

namespace hone::cli {

struct KnownPortfolio {
  Portfolio portfolio;
  std::int64_t generation = 0;  ///< 0: it came with Hone
  std::string source;           ///< the text
  PortfolioKey key = {};        ///< of the store
};

/// OPERATION ..., --dtype, --product, --range and --generation.
void add_portfolio_selection(cxxopts::Options& options);
/// What was named; nothing: all.
std::vector<std::string> wanted_operations(const cxxopts::ParseResult& arguments);
/// What is wanted of portfolios.
struct PortfolioSelection {
  const cxxopts::ParseResult& arguments;
  std::vector<std::string> operations;     ///< those that were named, or that files were named for
  std::vector<std::string> of_files = {};  ///< those of kernels in files: known, whether any portfolio is of them or not
};
/// As it was named, without files.
PortfolioSelection selection_of(const cxxopts::ParseResult& arguments);
/// Whether anything of these was given.
bool selects(const PortfolioSelection& selection);
bool is_wanted(const PortfolioSelection& selection, const KnownPortfolio& one);

/// Errors, kNotFound: a name that is no operation and no kernel, and is not `known` otherwise.
Result<void> check_operations(const std::vector<std::string>& names, std::vector<std::string> known = {});
/// Those of the store (null: none) that are wanted, then those that came with Hone. `unreadable`: how many of the store are of another
/// Hone, and do not serve. Errors: an unknown name; no portfolio fits.
Result<std::vector<KnownPortfolio>> known_portfolios(const PortfolioSelection& selection, Store* store, std::size_t& unreadable);

/// An operation, or a kernel as one of its own; `own`: kernels of files, as find_operation() takes them.
Result<Operation> operation_or_kernel(const std::string& name, std::span<const KernelSpec* const> own = {});
/// Whether its kernels are today's.
bool is_current(const Portfolio& portfolio);

}  // namespace hone::cli
