// The portfolios that came with Hone.
#include "engine/store/shipped_portfolios.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/instantiation.hpp"
#include "tests/portfolio_cells.hpp"
#include "tests/shipped_portfolio.hpp"

namespace hone {
namespace {

Portfolio small_portfolio(const char* product, const char* architecture, const char* range = "rows=1..64,cols=64") {
  const KernelSpec& spec = *find_builtin_kernel("row_sum").value();
  Portfolio made;
  made.operation = "row_sum";
  made.dtypes = "f32";
  made.product = product;
  made.architecture = architecture;
  made.sources = {{"row_sum", spec.source_hash}};
  made.range = parse_range(spec, range).value();
  made.members = {{"row_sum", text(spec.parameters, default_configuration(spec))}};
  made.rule = {.reach = {4.0}};
  made.points = {{{{"rows", 8}, {"cols", made.range.axes[1].least()}}, 5.0, 5.0, test::cells({1.0})}};
  return made;
}

}  // namespace

TEST_CASE("portfolios that came with Hone fit its kernels") {
  for (const std::string& source : shipped_portfolio_texts()) {
    const Portfolio portfolio = parse_portfolio(source).value();
    CAPTURE(portfolio.operation);
    CHECK_FALSE(portfolio.members.empty());
    CHECK_FALSE(portfolio.points.empty());
    CHECK(text(portfolio) == source);
    for (const PortfolioMember& member : portfolio.members) {
      const KernelSpec& spec = *find_builtin_kernel(member.kernel).value();
      CHECK(parse_configuration(spec.parameters, member.configuration).ok());
      CHECK(portfolio.sources.at(member.kernel) == spec.source_hash);
    }
    // Of several of an operation, one holds a shape.
    const Shape& shape = portfolio.points.front().shape;
    CHECK(std::ranges::count_if(shipped_portfolio_texts(), [&](const std::string& other) {
            const Portfolio one = parse_portfolio(other).value();
            return one.operation == portfolio.operation && one.dtypes == portfolio.dtypes && one.product == portfolio.product &&
                   distance(one.range, shape) == 0.0;
          }) == 1);
  }
}

TEST_CASE("what a portfolio that came with Hone is for is known from its beginning") {
  for (const ShippedPortfolio* const one : shipped_by_likeness("", "")) {
    const Portfolio whole = parse_portfolio(one->text()).value();
    CHECK(one->head().operation == whole.operation);
    CHECK(one->head().dtypes == whole.dtypes);
    CHECK(one->head().product == whole.product);
    CHECK(one->head().architecture == whole.architecture);
    CHECK(one->head().range == whole.range);
    CHECK(one->head().members.empty());
  }
  CHECK(parse_portfolio_head("{").error().code == ErrorCode::kStore);
  CHECK_FALSE(parse_portfolio_head("{\n \"operation\": \"row_sum\"\n}").ok());
}

TEST_CASE("those of an operation and range stand together, of the product itself and of its architecture, what is named alike first") {
  const test::Shipped other(small_portfolio("Abacus 2000", "sm_1")), own(small_portfolio("Abacus 3000", "sm_1")),
      wider(small_portfolio("Abacus 2000", "sm_1", "rows=1..64,cols=128")), foreign(small_portfolio("Slide rule", "sm_2"));
  const ReplacedShippedPortfolios replaced(std::array{other.span(), foreign.span(), wider.span(), own.span()});
  const auto products = [](const ShippedGroup& group) {
    std::vector<std::string> all;
    std::ranges::transform(group, std::back_inserter(all), [](const ShippedPortfolio* one) { return one->head().product; });
    return all;
  };
  const std::vector<ShippedGroup> groups = shipped_groups("row_sum", "Abacus 3000", "sm_1");
  REQUIRE(groups.size() == 2);
  CHECK(products(groups[0]) == std::vector<std::string>{"Abacus 3000", "Abacus 2000"});
  CHECK(products(groups[1]) == std::vector<std::string>{"Abacus 2000"});
  CHECK(shipped_groups("row_sum", "Slide rule", "").size() == 1);  // the product itself, whatever its architecture is called
  CHECK(shipped_groups("softmax", "Abacus 3000", "sm_1").empty());
  CHECK(shipped_by_likeness("row_sum", "Abacus 3000 SE").size() == 4);
  CHECK(products({shipped_by_likeness("", "Abacus 3000 SE").front()}) == std::vector<std::string>{"Abacus 3000"});

  // For a GPU of another architecture all may serve, of one that has some of its own these alone.
  const std::vector<ShippedGroup> elsewhere = shipped_groups("row_sum", "Abacus 4000", "sm_3");
  REQUIRE(elsewhere.size() == 2);
  CHECK(products(elsewhere[0]) == std::vector<std::string>{"Abacus 2000", "Abacus 3000", "Slide rule"});
  CHECK(products(shipped_groups("row_sum", "Slide rule 2", "sm_2").front()) == std::vector<std::string>{"Slide rule"});
  CHECK(shipped_groups("row_sum", "Abacus 4000", "x86_64").empty());
}

}  // namespace hone
