#pragma once
// The portfolios of a store and those that came with Hone, as verbs choose among them.

#include <cstdint>
#include <deque>
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

/// OPERATION|FILE ..., --with, --dtype, --product, --range, --generation, and how kernel files are read.
void add_portfolio_selection(cxxopts::Options& options);
/// What is wanted of portfolios.
struct PortfolioSelection {
  const cxxopts::ParseResult& arguments;
  std::vector<std::string> operations;  ///< those that were named, or that files were named for; none: all
  std::deque<KernelSpec> own;           ///< of files and of --with; they stay where they are
};
/// Reads the kernel files that were named. Errors: one that cannot be read; of --with, one that implements no operation.
Result<PortfolioSelection> selection_of(const cxxopts::ParseResult& arguments);
/// Whether anything of these was given.
bool selects(const PortfolioSelection& selection);
bool is_wanted(const PortfolioSelection& selection, const KnownPortfolio& one);

/// Errors, kNotFound: a name that is no operation and no kernel, built in or of the selection's files, and is not `known` otherwise.
Result<void> check_operations(const PortfolioSelection& selection, std::vector<std::string> known = {});
/// Those of the store (null: none) that are wanted, then those that came with Hone. `unreadable`: how many of the store are of another
/// Hone, and do not serve. Errors: an unknown name; no portfolio fits.
Result<std::vector<KnownPortfolio>> known_portfolios(const PortfolioSelection& selection, Store* store, std::size_t& unreadable);

/// An operation, or a kernel as one of its own; `own`: kernels of files, as find_operation() takes them.
Result<Operation> operation_or_kernel(const std::string& name, std::span<const KernelSpec* const> own = {});
/// Whether its kernels are today's, so far as they are built in or among `own`.
bool is_current(const Portfolio& portfolio, const std::deque<KernelSpec>& own);

}  // namespace hone::cli
