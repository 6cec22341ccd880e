#pragma once
// A portfolio that was read, with its rule. What was read once is kept in the process.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/kernel/kernel_spec.hpp"
#include "engine/store/portfolio_rule.hpp"
#include "hone/configuration.hpp"

namespace hone {

/// Of each member of a portfolio, its configuration as a kernel's parameters have it. Nothing for one of another kernel, or that it does
/// not know.
using MemberConfigurations = std::vector<std::optional<Configuration>>;
MemberConfigurations configurations_of(std::span<const PortfolioMember> members, const KernelSpec& spec);

class LoadedPortfolio {
 public:
  /// `digest`: of the text, or of those that it was made of.
  LoadedPortfolio(Portfolio portfolio, std::string digest) : portfolio_(std::move(portfolio)), digest_(std::move(digest)) {}

  [[nodiscard]] const Portfolio& portfolio() const { return portfolio_; }
  [[nodiscard]] const std::string& digest() const { return digest_; }
  /// Made when it is first asked for: one that serves together with others is not asked.
  [[nodiscard]] const PortfolioRule& rule() const;
  /// Read when they are first asked for.
  [[nodiscard]] std::shared_ptr<const MemberConfigurations> configurations(const KernelSpec& spec) const;

 private:
  Portfolio portfolio_;
  std::string digest_;
  mutable std::once_flag made_;
  mutable std::optional<PortfolioRule> rule_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const MemberConfigurations>>
      configurations_;  ///< by the kernel's name and the hash of its source
};

/// Errors, kStore: as of parse_portfolio().
Result<std::shared_ptr<const LoadedPortfolio>> load_portfolio(std::string_view text);

/// The first one, with the members and the measurements of the others, which are for the same operation, dtypes and range on other
/// products: what is fast there is fast here, more often than not. It alone, if it knows much. At least one.
std::shared_ptr<const LoadedPortfolio> together(std::span<const std::shared_ptr<const LoadedPortfolio>> all);

}  // namespace hone
