// Configurations that nobody has tried, by what trees expect of their parameters.
#include "engine/tune/portfolio_designs.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "engine/kernel/configuration_text.hpp"
#include "tests/tune/copy_kernel.hpp"

namespace hone {
namespace {

constexpr double kDesignSeconds = 5.0;  // of a session

/// Trees that have each doubling of an access and of a block a tenth faster, whatever the shape.
PortfolioTrees additive_trees() {
  PortfolioTrees all{{"n", "n%", "#blocks", "#tail", "#padding", "copy:", "copy.wide", "copy.block"}, {}};
  all.trees.borders.resize(all.columns.size());
  all.trees.borders[6] = {1.5F, 3.0F};
  all.trees.borders[7] = {48.0F};
  BoostedTrees::Tree& tree = all.trees.trees.emplace_back();
  tree.questions = {{{6, 0}, {6, 1}, {7, 0}, {7, 0}, {7, 0}}};
  tree.step = 0.1;
  for (std::size_t answers = 0; answers < BoostedTrees::kLeaves; ++answers) {
    tree.leaves[answers] = -static_cast<int>((answers & 1) + (answers >> 1 & 1) + (answers >> 2 & 1));
  }
  all.trees.base = 0.3;
  return all;
}

/// Wide accesses, and large blocks, were tried alone. At most extents wide ones are illegal.
class Designed : public test::CopyRange {
 public:
  Designed() {
    for (std::int64_t n = 1; n <= 1600; n += 3) {
      measure(n, 1, 64, 9.0);
      if (n % 4 == 0) {
        measure(n, 4, 32, 8.0);
      }
    }
  }

  [[nodiscard]] std::vector<PortfolioDesign> next(std::size_t most = 8) { return designs.next(members, trees, kDesignSeconds, most); }

  const std::vector<PortfolioMember> members{{"copy", "wide=1,block=64"}, {"copy", "wide=4,block=32"}};
  const PortfolioMember both{"copy", "wide=4,block=64"};
  const PortfolioTrees trees = additive_trees();
  PortfolioDesigns designs{table, shapes, proposals};
};

}  // namespace

TEST_CASE("what joins what is fast is designed, for shapes where it is legal, and once") {
  Designed designed;
  const std::vector<PortfolioDesign> first = designed.next();
  const auto both = std::ranges::find(first, designed.both, &PortfolioDesign::member);
  REQUIRE(both != first.end());
  CHECK(both->rows.size() >= PortfolioTable::kCompared);
  for (const std::size_t row : both->rows) {
    CHECK(designed.table.rows()[row].shape.front().second % 4 == 0);
  }
  const std::vector<PortfolioDesign> second = designed.next();
  for (const PortfolioDesign& one : first) {
    CHECK(std::ranges::find(designed.members, one.member) == designed.members.end());
    CHECK(std::ranges::find(second, one.member, &PortfolioDesign::member) == second.end());
  }
}

TEST_CASE("what was wrong is not designed, nor more than is asked for") {
  Designed designed;
  CHECK(designed.next(0).empty());
  designed.measure(64, 4, 64, 0.0);
  for (int i = 0; i < 3; ++i) {
    for (const PortfolioDesign& one : designed.next()) {
      CHECK(one.member != designed.both);
    }
  }
}

TEST_CASE("designs end where nothing is expected to be ahead") {
  Designed designed;
  for (int i = 0; i < 16 && !designed.designs.is_done(); ++i) {
    (void)designed.next();
  }
  CHECK(designed.designs.is_done());
}

}  // namespace hone
