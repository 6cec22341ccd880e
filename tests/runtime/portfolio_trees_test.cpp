// The trees of a portfolio: their features, their text, and what they change in a choice.
#include "engine/store/portfolio_trees.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "engine/store/portfolio.hpp"
#include "engine/store/portfolio_rule.hpp"
#include "tests/crossing_portfolio.hpp"
#include "tests/portfolio_cells.hpp"

namespace hone {
namespace {

/// Which of two members is fast does not depend on how many rows there are, but on whether those are a multiple of 8.
Portfolio by_alignment() {
  Portfolio portfolio = test::crossing_portfolio();
  portfolio.members = {{"toy", "a=1,path=direct"}, {"toy", "a=8,path=staged"}, {"other", "b=true"}};
  portfolio.sources["other"] = "fedc";
  portfolio.points.clear();
  for (std::int64_t rows = 1; rows <= 4096; rows += rows < 64 ? 3 : 13) {
    const bool is_aligned = rows % 8 == 0;
    PortfolioPoint& point = portfolio.points.emplace_back(
        PortfolioPoint{{{"rows", rows}, {"cols", 64}}, 5.0, 5.0, test::cells({is_aligned ? 2.0 : 1.0, is_aligned ? 1.0 : 1.5, 3.0})});
    test::set_launches(point, {LaunchSize{static_cast<double>(rows)}, LaunchSize{static_cast<double>(rows)}, LaunchSize{1.0}});
  }
  return portfolio;
}

/// Its points at as many other shapes.
std::vector<PortfolioPoint> some_more(const Portfolio& portfolio) {
  std::vector<PortfolioPoint> more(portfolio.points.begin() + 1, portfolio.points.end());
  for (PortfolioPoint& point : more) {
    point.shape[1].second += 1;
  }
  return more;
}

std::string with(const std::string& text, const std::string& from, const std::string& to) {
  std::string changed = text;
  const std::size_t at = changed.find(from);
  REQUIRE(at != std::string::npos);
  return changed.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("the features of trees are the shape's, the launch's and the member's") {
  const PortfolioTrees trees = fit_trees(by_alignment()).value();
  CHECK(trees.columns == std::vector<std::string>{"rows", "rows%", "#blocks", "#tail", "#padding", "toy:", "toy.a", "toy.path=direct",
                                                  "toy.path=staged", "other:", "other.b"});
  const auto row = trees.row_of({"toy", "a=8,path=staged,c=3"});
  REQUIRE(row);
  const std::vector<float> features = ShapeFeatures(trees, {{"rows", 48}, {"cols", 64}}).row(*row, {32.0, 0.5, 0.25});
  CHECK(features[0] == doctest::Approx(5.585));
  CHECK(std::vector(features.begin() + 1, features.begin() + 7) == std::vector<float>{4.0F, 5.0F, 0.5F, 0.25F, 1.0F, 8.0F});
  CHECK(features[7] < 0.0F);
  CHECK(features[8] == 1.0F);
  CHECK(features[9] < 0.0F);
  CHECK_FALSE(trees.row_of({"unknown", "a=1"}));
}

TEST_CASE("trees of many measurements ask of products of extents, of pieces of work along each, and of what a piece has") {
  Portfolio portfolio = by_alignment();
  REQUIRE(portfolio.range.axes.size() == 2);
  portfolio.range.axes[1].parts = {{1, 4096}};
  portfolio.rule.reach = {16.0, 16.0};
  const auto enough = portfolio.points;
  for (std::int64_t cols = 128; cols <= 512; cols += 64) {
    for (PortfolioPoint point : enough) {
      point.shape[1].second = cols;
      portfolio.points.push_back(std::move(point));
    }
  }
  const PortfolioTrees trees = fit_trees(portfolio).value();
  CHECK(std::vector(trees.columns.begin(), trees.columns.begin() + 15) ==
        std::vector<std::string>{"rows", "rows%", "cols", "cols%", "#blocks", "#tail", "#padding", "rows*cols", "#pieces", "#rows",
                                 "rows/#rows", "#cols", "cols/#cols", "rows*cols/#pieces", "toy:"});
  CHECK(trees.changing() == 14);
  const LaunchSize launch{.blocks = 4.0, .pieces = 32.0, .along = {2.0, 16.0}};  // of cols, of rows
  const std::vector<float> row =
      ShapeFeatures(trees, {{"rows", 256}, {"cols", 128}}).row(trees.row_of(portfolio.members[0]).value(), launch);
  CHECK(std::vector(row.begin() + 7, row.begin() + 14) == std::vector<float>{15.0F, 5.0F, 4.0F, 4.0F, 1.0F, 6.0F, 10.0F});
  const std::vector<float> unknown =
      ShapeFeatures(trees, {{"rows", 256}, {"cols", 128}}).row(trees.row_of(portfolio.members[0]).value(), LaunchSize{4.0});
  CHECK(unknown[9] == 0.0F);
  portfolio.trees = trees;
  CHECK(parse_portfolio(text(portfolio)).value().trees == trees);
  for (const auto& [from, to] : {std::pair("\"#pieces\"", "\"#piece\""),
                                 {"\"#rows\"", "\"#row\""},
                                 {"rows/#rows", "rows/#cols"},
                                 {"\"rows*cols\"", "\"rows*col\""}}) {
    CHECK_FALSE(parse_portfolio(with(text(portfolio), from, to)).ok());
  }
}

TEST_CASE("trees expect what members take, and few measurements, or none with a launch, are too few") {
  Portfolio portfolio = by_alignment();
  const PortfolioTrees trees = fit_trees(portfolio).value();
  const auto expected = [&](std::size_t member, std::int64_t rows) {
    const ShapeFeatures here(trees, {{"rows", rows}, {"cols", 64}});
    return trees.trees.expect(here.row(trees.row_of(portfolio.members[member]).value(), {static_cast<double>(rows)}));
  };
  for (const std::int64_t rows : {24, 1000}) {
    CHECK(expected(1, rows) < expected(0, rows) - 0.3);
    CHECK(expected(0, rows + 1) < expected(1, rows + 1) - 0.3);
  }
  for (PortfolioPoint& point : portfolio.points) {
    test::set_launches(point, {std::nullopt, std::nullopt, std::nullopt});
  }
  CHECK_FALSE(fit_trees(portfolio));
  CHECK_FALSE(fit_trees(test::crossing_portfolio()));
}

TEST_CASE("a text has five questions of a tree that asks its last one twice, and six of others") {
  Portfolio portfolio = by_alignment();
  portfolio.trees = fit_trees(portfolio);
  const std::string few = text(portfolio);
  BoostedTrees::Tree& deep = portfolio.trees->trees.trees.front();
  REQUIRE(deep.questions[4] == deep.questions[5]);
  deep.questions[5] = {0, deep.questions[4] == BoostedTrees::Question{0, 0} ? std::size_t{1} : std::size_t{0}};
  for (std::size_t leaf = 0; leaf < deep.leaves.size(); ++leaf) {
    deep.leaves[leaf] = static_cast<int>(leaf % 61) - BoostedTrees::kSteps;
  }
  const std::string more = text(portfolio);
  CHECK(more.size() - few.size() == 3 + 32);
  CHECK(parse_portfolio(more).value().trees == portfolio.trees);
  CHECK(text(parse_portfolio(few).value()) == few);
}

TEST_CASE("members are asked together what each is expected to take, and only those that are asked and launch something") {
  const Portfolio portfolio = by_alignment();
  const PortfolioTrees trees = fit_trees(portfolio).value();
  std::vector<PortfolioMember> members = portfolio.members;
  members.push_back({"unknown", "a=1"});
  members.push_back(members[0]);
  const TreeMembers together(trees, members, {true, true, true, true, false});
  const std::vector<std::optional<LaunchSize>> launches{LaunchSize{8.0, 0.5}, LaunchSize{1000.0, 0.0, 1.0}, std::nullopt, LaunchSize{1.0},
                                                        LaunchSize{1.0}};
  for (const std::int64_t rows : {3, 48, 1000, 100000}) {
    const Shape shape{{"rows", rows}, {"cols", 64}};
    const auto expected = together.expect(shape, launches);
    REQUIRE(expected.size() == 5);
    for (const std::size_t member : {0, 1}) {
      const auto row = ShapeFeatures(trees, shape).row(trees.row_of(members[member]).value(), *launches[member]);
      CHECK(expected[member] == trees.trees.expect(row));
    }
    CHECK_FALSE(expected[2]);
    CHECK_FALSE(expected[3]);
    CHECK_FALSE(expected[4]);
  }
  CHECK(together.expect({{"rows", 8}, {"cols", 64}}, {}) == std::vector<std::optional<double>>(5));
  CHECK(TreeMembers(trees, {}, {}).expect({{"rows", 8}, {"cols", 64}}, {}).empty());
}

TEST_CASE("a rule with trees chooses by what all measurements say, among what was measured nearby") {
  Portfolio portfolio = by_alignment();
  portfolio.rule.alignment = 0.0;  // the process alone cannot tell
  portfolio.rule.reach = {16.0};
  const auto right = [&](const Portfolio& of) {
    const PortfolioRule rule(of);
    std::size_t count = 0;
    for (std::int64_t rows = 200; rows < 300; ++rows) {
      const LaunchSize launch{static_cast<double>(rows)};
      count += rule.rank({{"rows", rows}, {"cols", 64}}, {launch, launch, LaunchSize{1.0}}).front().member == (rows % 8 == 0 ? 1U : 0U);
    }
    return count;
  };
  CHECK(right(portfolio) < 95);
  portfolio.trees = fit_trees(portfolio);
  CHECK(right(portfolio) == 100);
  // What is asked of points that are left out, and of what nobody measured, is not asked of trees that know them.
  Portfolio without = portfolio;
  without.trees.reset();
  const MemberLaunches launches = launches_at(portfolio.points[40], 3);
  CHECK(PortfolioRule(portfolio).rank_without(40, launches).front().slowdown ==
        PortfolioRule(without).rank_without(40, launches).front().slowdown);
}

TEST_CASE("trees of very many measurements say first who may be chosen, and measurements nearby where trees say nothing") {
  Portfolio portfolio = by_alignment();
  portfolio.range.axes[1].parts = {{1, 4096}};
  portfolio.rule.reach = {16.0, 16.0};
  portfolio.rule.alignment = 0.0;
  const auto some = portfolio.points;
  for (std::int64_t cols = 128; portfolio.points.size() * 3 < 8000; cols += 64) {
    for (PortfolioPoint point : some) {
      point.shape[1].second = cols;
      portfolio.points.push_back(std::move(point));
    }
  }
  portfolio.trees = fit_trees(portfolio);
  const auto chosen = [](const Portfolio& from, std::int64_t rows) {
    const LaunchSize launch{static_cast<double>(rows)};
    MemberLaunches launches{launch, launch, LaunchSize{1.0}};
    launches.resize(from.members.size());
    if (from.members.size() > 3) {
      launches.back() = LaunchSize{1.0};
    }
    return PortfolioRule(from).rank({{"rows", rows}, {"cols", 200}}, launches).front().member;
  };
  for (const std::int64_t rows : {200, 203, 1000, 1001}) {
    CHECK(chosen(portfolio, rows) == (rows % 8 == 0 ? 1U : 0U));
  }
  // What trees know by its parameters may be chosen far from where it was measured.
  Portfolio once = portfolio;
  for (std::size_t i = 1; i < once.points.size(); ++i) {
    std::erase_if(once.points[i].cells, [](const PortfolioCell& cell) { return cell.member == 1; });
  }
  for (PortfolioPoint& point : some_more(once)) {
    once.points.push_back(std::move(point));
  }
  CHECK(chosen(once, 1000) == 1);
  portfolio.members.push_back({"late", "c=1"});  // of a kernel that trees have no column for
  portfolio.sources["late"] = "abcd";
  for (PortfolioPoint& point : portfolio.points) {
    point.cells.push_back({3, 1.0, LaunchSize{1.0}});
    for (std::size_t member = 0; member < 3; ++member) {
      point.cells[member].slowdown *= 1.5;
    }
  }
  CHECK(chosen(portfolio, 203) == 3);
}

TEST_CASE("the text of a portfolio keeps its trees") {
  Portfolio portfolio = by_alignment();
  CHECK(text(portfolio).find("\"trees\"") == std::string::npos);
  portfolio.trees = fit_trees(portfolio);
  const std::string written = text(portfolio);
  const Portfolio read = parse_portfolio(written).value();
  CHECK(read.trees == portfolio.trees);
  CHECK(text(read) == written);
}

TEST_CASE("values as large as parameters may be do not make a text that cannot be read") {
  Portfolio portfolio = by_alignment();
  portfolio.members[0].configuration = "a=16777216,path=direct";
  portfolio.members[1].configuration = "a=9223372036854775807,path=staged";
  portfolio.trees = fit_trees(portfolio);
  REQUIRE(portfolio.trees);
  const Result<Portfolio> read = parse_portfolio(text(portfolio));
  REQUIRE_MESSAGE(read.ok(), read.error().message);
  CHECK(read->trees == portfolio.trees);
}

TEST_CASE("trees that contradict themselves are refused") {
  Portfolio portfolio = by_alignment();
  portfolio.trees = fit_trees(portfolio);
  const std::string written = text(portfolio);
  const std::size_t first = written.find("\"trees\": [\"") + 10;
  for (const std::string& damaged :
       {with(written, "\"columns\": [\"rows\",", "\"columns\": ["), with(written, "\"#tail\"", "\"#tails\""),
        with(written, "\"base\": ", "\"base\": 1e308, \"unused\": "), with(written, "\"steps\": [", "\"steps\": [1,"),
        with(written, "\"steps\": [0.", "\"steps\": [10000000."), with(written, "\"borders\": [[", "\"borders\": [[99,1,"),
        with(written, "\"borders\": [[", "\"borders\": [[-1e30,"), std::string(written).replace(first, 2, "zz"),
        std::string(written).replace(first + 2, 1, "9"), std::string(written).replace(first, 1, "."),
        std::string(written).replace(first, 1, ""), std::string(written).replace(first + 20, 1, "?")}) {
    CAPTURE(damaged);
    const auto read = parse_portfolio(damaged);
    REQUIRE_FALSE(read.ok());
    CHECK(read.error().code == ErrorCode::kStore);
  }
}

}  // namespace hone
