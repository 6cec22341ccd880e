// The rule of a portfolio: what it chooses, how sure it is, and its text.
#include "engine/store/portfolio_rule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "engine/store/portfolio.hpp"
#include "tests/crossing_portfolio.hpp"
#include "tests/portfolio_cells.hpp"

namespace hone {
namespace {

using test::cells;
using test::crossing_portfolio;
using test::set_launches;

Shape toy_shape(std::int64_t rows) { return {{"rows", rows}, {"cols", 64}}; }

}  // namespace

TEST_CASE("a rule chooses by shape, between the points, too") {
  const PortfolioRule rule(crossing_portfolio());
  for (const std::int64_t rows : {1, 3, 20, 50, 100}) {
    CHECK(rule.rank(toy_shape(rows), {}).front().member == 0);
  }
  for (const std::int64_t rows : {700, 2000, 5001, 30000}) {
    CHECK(rule.rank(toy_shape(rows), {}).front().member == 1);
  }
  CHECK(rule.leave_one_out().mean < 0.02);
}

TEST_CASE("a rule knows of a member what was not measured there, if it is asked what would have been chosen") {
  const Portfolio portfolio = crossing_portfolio();
  const PortfolioRule rule(portfolio);
  for (std::size_t point = 0; point < portfolio.points.size(); ++point) {
    Portfolio without = portfolio;
    without.points.erase(without.points.begin() + static_cast<std::ptrdiff_t>(point));
    const auto asked = rule.rank_without(point, {}), made = PortfolioRule(without).rank(portfolio.points[point].shape, {});
    CHECK(asked.front().member == made.front().member);
    CHECK(asked.front().slowdown == doctest::Approx(made.front().slowdown));
  }
}

TEST_CASE("what was never measured is no choice, and takes about what those like it took, if it is asked for that") {
  Portfolio portfolio = crossing_portfolio();
  portfolio.members = {{"toy", "a=1,b=1"}, {"toy", "a=64,b=8"}, {"toy", "a=1,b=2"}, {"toy", "a=64,b=4"}, {"other", "a=1,b=1"}};
  const PortfolioRule rule(portfolio);
  for (const std::int64_t rows : {2, 20000}) {
    INFO(rows);
    const auto ranked = rule.rank(toy_shape(rows), {});
    CHECK(ranked[0].member == (rows < 256 ? 0 : 1));
    CHECK(ranked[1].member == (rows < 256 ? 1 : 0));
    const auto like = rule.rank_by_likeness(toy_shape(rows), {});
    const auto place = [&](std::size_t member) { return std::ranges::find(like, member, &Opinion::member) - like.begin(); };
    CHECK((place(2) < place(3)) == (rows < 256));
    CHECK(place(4) == 4);
  }
}

TEST_CASE("a rule's doubt grows away from what was measured") {
  Portfolio portfolio = crossing_portfolio();
  portfolio.points.resize(4);  // up to 128 rows
  const PortfolioRule rule(portfolio);
  double earlier = rule.rank(toy_shape(128), {}).front().doubt;
  for (const std::int64_t rows : {256, 1024, 4096, 65536}) {
    const double here = rule.rank(toy_shape(rows), {}).front().doubt;
    CHECK(here > earlier);
    earlier = here;
  }
  CHECK(rule.rank(toy_shape(65536), {}).front().doubt == earlier);
}

TEST_CASE("a rule is the same after its text was read again") {
  Portfolio portfolio = crossing_portfolio();
  for (PortfolioPoint& point : portfolio.points) {
    const auto rows = static_cast<double>(point.shape.front().second);
    set_launches(point, {LaunchSize{rows, 1.0 / rows}, LaunchSize{std::ceil(rows / 7.0), 0.3}});
  }
  const std::string written = text(portfolio);
  const Portfolio read = parse_portfolio(written).value();
  CHECK(text(read) == written);
  const PortfolioRule one(portfolio), two(read);
  for (std::int64_t rows = 1; rows < 70000; rows = rows * 2 + 1) {
    const MemberLaunches launches{LaunchSize{static_cast<double>(rows)}, LaunchSize{3.0, 0.5}};
    const auto first = one.rank(toy_shape(rows), launches), second = two.rank(toy_shape(rows), launches);
    REQUIRE(first.size() == second.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
      CHECK(first[i].member == second[i].member);
      CHECK(first[i].doubt == second[i].doubt);
    }
  }
}

TEST_CASE("members that nothing tells apart come in their order") {
  Portfolio portfolio = crossing_portfolio();
  for (PortfolioPoint& point : portfolio.points) {
    point.cells = cells({1.0, 1.0});
  }
  const PortfolioRule rule(portfolio);
  for (std::int64_t rows = 1; rows < 70000; rows = rows * 3 + 1) {
    CHECK(rule.rank(toy_shape(rows), {}).front().member == 0);
  }
}

TEST_CASE("a member that was measured at few shapes is not trusted elsewhere") {
  Portfolio portfolio = crossing_portfolio();
  portfolio.members.push_back({"toy", "a=3"});
  for (PortfolioPoint& point : portfolio.points) {
    point.cells = cells({1.05, 1.6, std::nullopt});
  }
  portfolio.points.front().cells = cells({1.05, 1.6, 1.0});
  const PortfolioRule rule(portfolio);
  CHECK(rule.rank(toy_shape(8192), {}).front().member == 0);
}

TEST_CASE("what was the best far away, and was measured nowhere else, is no choice here") {
  Portfolio portfolio = crossing_portfolio();
  portfolio.members.push_back({"toy", "a=3"});
  for (PortfolioPoint& point : portfolio.points) {
    const bool is_large = point.shape.front().second > 1000;
    point.cells = cells({1.3, 1.6, is_large ? std::optional(1.0) : std::nullopt});
  }
  const PortfolioRule rule(portfolio);
  CHECK(rule.rank(toy_shape(8192), {}).front().member == 2);
  const std::vector<Opinion> at_few = rule.rank(toy_shape(8), {});
  CHECK(at_few.front().member == 0);
  for (const Opinion& one : at_few) {
    CHECK((one.member != 2 || one.slowdown > at_few.front().slowdown + 0.05));
    CHECK(one.doubt <= std::ranges::max(at_few, {}, &Opinion::doubt).doubt);
  }
  CHECK(std::ranges::max(at_few, {}, &Opinion::doubt).member == 2);
}

TEST_CASE("settings of an earlier version's text mean nothing") {
  Portfolio portfolio = crossing_portfolio();
  portfolio.rule = {.reach = {0.5}, .alignment = 2.0, .noise = 0.2};
  std::string old = text(portfolio);
  const std::string added = "\"unlike\":0.3,\"blocks\":0.14,";
  REQUIRE(old.find(added) != std::string::npos);
  old.erase(old.find(added), added.size());
  const Portfolio read = parse_portfolio(old).value();
  CHECK(read.rule.reach == std::vector<double>{RuleSettings::kUsualReach});
  CHECK(read.rule.noise == RuleSettings().noise);
  CHECK(PortfolioRule(read).rank(toy_shape(30000), {}).front().member == 1);
}

TEST_CASE("a text keeps which launches are not known") {
  Portfolio portfolio = crossing_portfolio();
  for (PortfolioPoint& point : portfolio.points) {
    set_launches(point, {LaunchSize{3.0, 0.5}, point.shape.front().second > 100 ? std::optional(LaunchSize{7.0}) : std::nullopt});
  }
  const Portfolio read = parse_portfolio(text(portfolio)).value();
  CHECK(text(read) == text(portfolio));
  CHECK(read.points.front().cells[0].launch->tail == 0.5);
  CHECK_FALSE(read.points.front().cells[1].launch.has_value());
  CHECK(read.points.back().cells[1].launch.has_value());
}

TEST_CASE("what a text of an earlier version says of launches, and its trees, mean nothing") {
  Portfolio portfolio = crossing_portfolio();
  for (PortfolioPoint& point : portfolio.points) {
    set_launches(point, {LaunchSize{4.0, 0.5}, LaunchSize{16.0, 0.25}});
  }
  portfolio.trees = PortfolioTrees{{"rows"}, {.borders = {{64.0F}}, .trees = {}}};
  std::string earlier = text(portfolio);
  CHECK(parse_portfolio(earlier).value().trees == portfolio.trees);
  const std::string added = " \"launches\": \"main\",\n";
  REQUIRE(earlier.find(added) != std::string::npos);
  earlier.erase(earlier.find(added), added.size());
  const Portfolio read = parse_portfolio(earlier).value();
  CHECK_FALSE(read.trees);
  CHECK_FALSE(read.points.front().cells[1].launch);
  CHECK(read.points.front().cells[1].slowdown == parse_portfolio(text(portfolio)).value().points.front().cells[1].slowdown);
}

TEST_CASE("as many members as can be asked for are read, and no more") {
  Portfolio portfolio = crossing_portfolio();
  while (portfolio.members.size() < Portfolio::kMostMembers) {
    portfolio.members.push_back({"toy", "a=" + std::to_string(100 + portfolio.members.size())});
  }
  CHECK(parse_portfolio(text(portfolio)).ok());
  portfolio.members.push_back({"toy", "a=99"});
  CHECK_FALSE(parse_portfolio(text(portfolio)).ok());
}

TEST_CASE("a rule of many measurements is a number everywhere") {
  Portfolio portfolio = crossing_portfolio();
  portfolio.members.clear();
  portfolio.points.clear();
  constexpr std::size_t kMembers = 20;
  for (std::size_t member = 0; member < kMembers; ++member) {
    portfolio.members.push_back({"toy", "a=" + std::to_string(member) + ",b=" + std::to_string(member % 3)});
  }
  for (std::int64_t i = 0; i < 130; ++i) {
    PortfolioPoint& point = portfolio.points.emplace_back();
    point.shape = toy_shape(1 + 17 * i);
    point.best_us = (i * 7919) % 3 == 0 ? 1e5 : 10.0;
    point.floor_us = 10.0;
    for (std::size_t member = 0; member < kMembers; ++member) {
      if ((static_cast<std::size_t>(i) * 31 + member * 7) % 5 == 0) {
        point.cells.push_back({member, 1.0 + 0.1 * static_cast<double>(member % 4), {}});
      }
    }
  }
  portfolio.rule = {.reach = {100.0}, .alignment = 0.0, .noise = 0.001};
  for (const Opinion& one : PortfolioRule(parse_portfolio(text(portfolio)).value()).rank(toy_shape(777), {})) {
    CHECK(std::isfinite(one.slowdown));
    CHECK(one.doubt > 0.0);
  }
}

TEST_CASE("what a member took says something of members like it") {
  Portfolio portfolio = crossing_portfolio();
  portfolio.members = {{"toy", "a=1,b=1,c=1"}, {"toy", "a=1,b=1,c=2"}, {"toy", "a=64,b=true,c=64"}, {"other", "a=1,b=1,c=1"}};
  for (PortfolioPoint& point : portfolio.points) {
    const bool is_far = point.shape.front().second > 64;
    const std::optional<double> here = is_far ? std::optional(1.4) : std::nullopt;
    point.cells = cells({1.0, here, here, here});
  }
  portfolio.rule.reach = {8.0};
  const std::vector<Opinion> ranked = PortfolioRule(portfolio).rank(toy_shape(16), {});
  CHECK(ranked[0].member == 0);
  CHECK(ranked[1].member == 1);
  CHECK(ranked[1].doubt < ranked[2].doubt);
}

TEST_CASE("members are told apart by the blocks of their launches") {
  // What takes many blocks is slow, at shapes of which nothing else says so.
  Portfolio portfolio = crossing_portfolio();
  portfolio.rule = {.reach = {16.0}, .noise = 0.01, .blocks = 0.5};
  for (PortfolioPoint& point : portfolio.points) {
    const bool is_first = &point - portfolio.points.data() < 4;
    point.cells = is_first ? cells({1.0, 1.5}) : cells({1.5, 1.0});
    set_launches(point, is_first ? MemberLaunches{LaunchSize{1.0}, LaunchSize{256.0}} : MemberLaunches{LaunchSize{256.0}, LaunchSize{1.0}});
  }
  const PortfolioRule rule(portfolio);
  CHECK(rule.rank(toy_shape(256), {LaunchSize{1.0}, LaunchSize{256.0}}).front().member == 0);
  CHECK(rule.rank(toy_shape(256), {LaunchSize{256.0}, LaunchSize{1.0}}).front().member == 1);
}

TEST_CASE("members are told apart by how evenly their launches fill the device") {
  // What leaves most of its last wave idle is slow.
  const LaunchSize even{200.0, 0.0}, uneven{200.0, 0.75};
  Portfolio portfolio = crossing_portfolio();
  portfolio.rule = {.reach = {16.0}, .noise = 0.01, .tail = 1.0};
  for (std::size_t i = 0; i < portfolio.points.size(); ++i) {
    portfolio.points[i].cells = i % 2 == 0 ? cells({1.0, 1.5}) : cells({1.5, 1.0});
    set_launches(portfolio.points[i], i % 2 == 0 ? MemberLaunches{even, uneven} : MemberLaunches{uneven, even});
  }
  const PortfolioRule rule(portfolio);
  for (const std::int64_t rows : {100, 300, 1000}) {
    CHECK(rule.rank(toy_shape(rows), {even, uneven}).front().member == 0);
    CHECK(rule.rank(toy_shape(rows), {uneven, even}).front().member == 1);
  }
}

TEST_CASE("launches that some measurements of a kernel lack tell none of its members apart") {
  Portfolio portfolio = crossing_portfolio();
  portfolio.rule = {.reach = {16.0}, .noise = 0.01, .blocks = 0.5};
  Portfolio without = portfolio;
  const std::vector<Opinion> expected = PortfolioRule(without).rank(toy_shape(300), {});
  const auto is_as_without = [&] {
    const std::vector<Opinion> ranked = PortfolioRule(portfolio).rank(toy_shape(300), {LaunchSize{64.0}, LaunchSize{64.0}});
    for (std::size_t i = 0; i < ranked.size(); ++i) {
      CHECK(ranked[i].member == expected[i].member);
      CHECK(ranked[i].slowdown == expected[i].slowdown);
      CHECK(ranked[i].doubt == expected[i].doubt);
    }
  };
  for (std::size_t i = 0; i < portfolio.points.size(); i += 2) {  // of both members at some points
    set_launches(portfolio.points[i], {LaunchSize{static_cast<double>(i + 1)}, LaunchSize{1000.0}});
  }
  is_as_without();
  for (const std::size_t known : {0, 1}) {  // of one of them at all
    for (PortfolioPoint& point : portfolio.points) {
      MemberLaunches launches(2);
      launches[known] = LaunchSize{static_cast<double>(point.shape.front().second)};
      set_launches(point, launches);
    }
    is_as_without();
  }
}

TEST_CASE("a kernel of whose launches some are not known is chosen beside one of which all are") {
  Portfolio portfolio = crossing_portfolio();
  portfolio.sources.emplace("other", "0");
  portfolio.members[1].kernel = "other";
  for (PortfolioPoint& point : portfolio.points) {
    set_launches(point, {LaunchSize{8.0}, std::nullopt});
  }
  const PortfolioRule rule(portfolio);
  CHECK(rule.rank(toy_shape(5001), {LaunchSize{8.0}, LaunchSize{8.0}}).front().member == 1);
  // What cannot be launched comes behind what can.
  CHECK(rule.rank(toy_shape(5001), {LaunchSize{8.0}, std::nullopt}).front().member == 0);
}

TEST_CASE("times of another product count as what they would be on this one") {
  Portfolio portfolio = crossing_portfolio();
  std::vector<PortfolioPoint> there = portfolio.points;
  for (PortfolioPoint& point : portfolio.points) {
    point.cells = cells({1.0, std::nullopt});  // the second member was not measured here
  }
  for (PortfolioPoint& point : there) {  // where both are four times as far from the floor, the second is faster
    point.floor_us /= 4.0;
    point.cells = cells({1.25, 1.0});
    point.elsewhere = true;
  }
  portfolio.points.insert(portfolio.points.end(), there.begin(), there.end());
  const std::vector<Opinion> ranked = PortfolioRule(portfolio).rank(toy_shape(300), {});
  CHECK(ranked.front().member == 1);
  CHECK(std::exp(ranked[1].slowdown - ranked[0].slowdown) > 1.02);
}

TEST_CASE("a text that contradicts itself is no portfolio") {
  Portfolio portfolio = crossing_portfolio();
  for (PortfolioPoint& point : portfolio.points) {
    set_launches(point, {LaunchSize{1.0}, LaunchSize{1.0}});
  }
  const std::string good = text(portfolio);
  const auto refused = [&](std::string_view what, std::string_view with) {
    std::string bad = good;
    const std::size_t at = bad.find(what);
    REQUIRE(at != std::string::npos);
    bad.replace(at, what.size(), with);
    return !parse_portfolio(bad).ok();
  };
  CHECK(refused("\"config\"", "\"configuration\""));
  CHECK(refused("\"slowdowns\":\"A", "\"slowdowns\":\"AA"));
  CHECK(refused("\"slowdowns\":\"A", "\"slowdowns\":\"?"));
  CHECK(refused("\"floor_us\": [10", "\"floor_us\": [0"));
  CHECK(refused("\"floor_us\": [10", "\"floor_us\": [10,10"));
  CHECK(refused("\"floor_us\": [10", "\"floor_us\": [1e300"));
  CHECK(refused("  \"AAAAAAAA\",\n", ""));
  CHECK(refused("\"AAAAAAAA\",", "\"AAAAAAA\","));
  CHECK(refused("\"AAAAAAAA\",", "\"AAAAAAA?\","));
  CHECK(refused("\"blocks\": [\n", "\"blocks\": [\n  \"\",\n"));
  CHECK(refused("\"noise\":0.01", "\"noise\":1e-7"));  // the matrix would be as good as singular
  CHECK(refused("\"noise\":0.01", "\"noise\":1e39"));
  CHECK(refused("\"reach\":[2.0]", "\"reach\":[1e-308]"));
  CHECK(refused("\"alignment\":0.0", "\"alignment\":1e308"));
  CHECK(refused("\"unlike\":0.3", "\"unlike\":0"));
  CHECK(refused("\"blocks\":0.14", "\"blocks\":-1"));
  CHECK(refused("\"tail\":0.7", "\"tail\":-1"));
  CHECK(refused("\"tails\": [\n", "\"tails\": [\n  \"\",\n"));
  CHECK(refused("\"expected_slowdown\":", "\"expected_slowdown\":1e300,\"was\":"));
  CHECK(refused("\"rows\": [1,", "\"rows\": ["));
  CHECK(refused("[[1,65536]]", "[[65536,1]]"));
  CHECK(refused("[[1,65536]]", "[]"));
  CHECK(refused("[[1,65536]]", "[[1.5,65536]]"));
  CHECK(refused("[[1,65536]]", "[[1,1e300]]"));
  CHECK(refused("\"reach\":[2.0]", "\"reach\":[]"));
  CHECK(refused("\"noise\":0.01", "\"noise\":0"));
  CHECK(refused("{\"toy\":\"0\"}", "{}"));
  CHECK(refused("\"rows\": [1,", "\"rows\": [\"x\","));
  CHECK_FALSE(parse_portfolio("").ok());
  CHECK_FALSE(parse_portfolio("[]").ok());
}

}  // namespace hone
