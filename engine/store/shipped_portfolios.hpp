#pragma once
// The portfolios that came with Hone: the texts of kernels_src/portfolios, as they were when Hone was built.

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/store/loaded_portfolio.hpp"

namespace hone {

/// All of them.
std::vector<std::string> shipped_portfolio_texts();

/// While it lives, other texts count as those that came with Hone: what a test gives, each compressed by gzip, which must live as long.
/// Nobody may look anything up while one comes or goes.
class ReplacedShippedPortfolios {
 public:
  explicit ReplacedShippedPortfolios(std::span<const std::span<const unsigned char>> compressed);
  ~ReplacedShippedPortfolios();
  ReplacedShippedPortfolios(const ReplacedShippedPortfolios&) = delete;
  ReplacedShippedPortfolios& operator=(const ReplacedShippedPortfolios&) = delete;

 private:
  struct Before;
  std::unique_ptr<Before> before_;
};

/// One of them. What it is for is known from its first lines; the rest is read when that is asked for, since to read all of them takes
/// longer than a lookup may.
class ShippedPortfolio {
 public:
  /// `compressed`: by gzip; must live as long. Throws ContractError where its beginning is damaged.
  explicit ShippedPortfolio(std::span<const unsigned char> compressed);

  /// What it is for, without members or points.
  [[nodiscard]] const Portfolio& head() const { return head_; }
  /// Throws ContractError where it is damaged.
  [[nodiscard]] std::string text() const;
  /// Errors, kStore: as of parse_portfolio(). Throws ContractError where it is damaged.
  [[nodiscard]] const Result<std::shared_ptr<const LoadedPortfolio>>& loaded() const;

 private:
  std::span<const unsigned char> compressed_;
  Portfolio head_;
  mutable std::optional<Result<std::shared_ptr<const LoadedPortfolio>>> loaded_;
  mutable std::once_flag load_;
};

/// Those of an operation (empty: of any), that of the product named most like this one first, then by the products' names.
std::vector<const ShippedPortfolio*> shipped_by_likeness(std::string_view operation, std::string_view product);

/// For the same operation, dtypes and range, on several products; at least one.
using ShippedGroup = std::vector<const ShippedPortfolio*>;
/// Whether it was made on such a product (`product`, with the part of it that there is) or on another one of its architecture.
bool is_of_architecture(const Portfolio& portfolio, std::string_view product, std::string_view architecture);
/// Those of an operation (empty: of any) that may serve a device: of its architecture, or where there is none, if it is a GPU, of another
/// GPU's. The order is that of shipped_by_likeness(), in each of them and by their first ones.
std::vector<ShippedGroup> shipped_groups(std::string_view operation, std::string_view product, std::string_view architecture);

}  // namespace hone
