// A portfolio that was read, alone and together with those of other products.
#include "engine/store/loaded_portfolio.hpp"

#include <doctest/doctest.h>

#include <array>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "tests/portfolio_cells.hpp"

namespace hone {
namespace {

Portfolio row_sums(const char* product, std::vector<PortfolioMember> members) {
  const KernelSpec& spec = *find_builtin_kernel("row_sum").value();
  Portfolio made;
  made.operation = "row_sum";
  made.dtypes = "f32";
  made.product = product;
  made.sources = {{"row_sum", "hash"}};
  made.range = parse_range(spec, "rows=1..64,cols=64").value();
  made.members = std::move(members);
  made.rule = {.reach = {4.0}};
  made.points = {{{{"rows", 8}, {"cols", 64}}, 5.0, 5.0, test::cells({1.0, 1.5})}};
  return made;
}

}  // namespace

TEST_CASE("a text is read once in a process") {
  const std::string one = text(row_sums("A", {{"row_sum", "block=32"}, {"row_sum", "block=64"}}));
  const auto loaded = load_portfolio(one).value();
  CHECK(load_portfolio(one).value() == loaded);
  CHECK(load_portfolio(one + " ").value() != loaded);
  CHECK(&loaded->rule() == &loaded->rule());
  CHECK(load_portfolio("{}").error().code == ErrorCode::kStore);
}

TEST_CASE("portfolios of several products are one with the members of all, and the first one's expectations") {
  const auto own = load_portfolio(text(row_sums("A", {{"row_sum", "block=32"}, {"row_sum", "block=64"}}))).value();
  const auto other = load_portfolio(text(row_sums("B", {{"row_sum", "block=64"}, {"row_sum", "block=128"}}))).value();
  CHECK(together(std::array{own}) == own);
  const auto both = together(std::array{own, other});
  CHECK(together(std::array{own, other}) == both);
  const Portfolio& portfolio = both->portfolio();
  CHECK(portfolio.product == "A");
  REQUIRE(portfolio.members.size() == 3);
  CHECK(portfolio.members[2].configuration == "block=128");
  REQUIRE(portfolio.points.size() == 2);
  CHECK_FALSE(portfolio.points[0].elsewhere);
  CHECK(portfolio.points[1].elsewhere);
  REQUIRE(portfolio.points[1].cells.size() == 2);
  CHECK(portfolio.points[1].cells[0].member == 1);  // block=64, as the first one counts
  CHECK(portfolio.points[1].cells[0].slowdown == doctest::Approx(1.0));
  CHECK(portfolio.points[1].find(0) == nullptr);
}

TEST_CASE("configurations of members are read once, by each kernel of their name") {
  const KernelSpec& spec = *find_builtin_kernel("row_sum").value();
  Portfolio made = row_sums("A", {{"row_sum", "block=64"}, {"other", "block=64"}, {"row_sum", "block=7"}});
  made.sources.emplace("other", "hash");
  made.points.front().cells = test::cells({1.0, 1.5, 2.0});
  const auto loaded = load_portfolio(text(made)).value();
  const auto read = loaded->configurations(spec);
  CHECK(loaded->configurations(spec) == read);
  REQUIRE(read->size() == 3);
  REQUIRE((*read)[0].has_value());
  CHECK(text(spec.parameters, *(*read)[0]).starts_with("block=64,"));
  CHECK_FALSE((*read)[1].has_value());
  CHECK_FALSE((*read)[2].has_value());  // no value of block
  KernelSpec changed = spec;
  changed.source_hash = "another";
  changed.parameters.erase(changed.parameters.begin() + 1, changed.parameters.end());
  CHECK((*loaded->configurations(changed))[0]->values.size() == 1);
}

}  // namespace hone
