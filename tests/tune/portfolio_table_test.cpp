// Which configurations a portfolio gets.
#include "engine/tune/portfolio_table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "engine/kernel/configuration_text.hpp"

namespace hone {
namespace {

KernelSpec table_spec() {
  KernelSpec spec;
  spec.name = "toy";
  spec.source_hash = "0";
  Parameter parameter;
  parameter.name = "a";
  for (std::int64_t value = 0; value < 8; ++value) {
    parameter.values.emplace_back(value);
  }
  parameter.default_value = parameter.values.front();
  spec.parameters = {parameter};
  return spec;
}

/// Times of the configurations a=0, a=1, ...; 0: not measured, below 0: a wrong result.
std::vector<Trial> trials_of(const KernelSpec& spec, const std::vector<double>& times) {
  std::vector<Trial> trials;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] == 0.0) {
      continue;
    }
    Trial& trial = trials.emplace_back();
    trial.configuration.values = {spec.parameters.front().values[i]};
    trial.outcome = times[i] < 0.0 ? Outcome::kWrongResult : Outcome::kOk;
    trial.measurement.median_us = std::max(0.0, times[i]);
  }
  return trials;
}

Shape table_shape(std::int64_t rows) { return {{"rows", rows}}; }

void measure(PortfolioTable& table, std::int64_t rows, const std::vector<double>& times) {
  const KernelSpec spec = table_spec();
  table.add(table_shape(rows), {}, spec, {}, {}, trials_of(spec, times));
}

/// A portfolio that knows a=0 at this shape.
void add_point(PortfolioTable& table, std::int64_t rows) {
  Portfolio earlier;
  earlier.members = {{"toy", "a=0"}};
  earlier.points = {{table_shape(rows), 1.0, 1.0, {{0, 1.0, {}}}}};
  table.add(earlier, [](const Shape& /*shape*/) { return std::optional(PortfolioTable::There{{}, MemberLaunches(1)}); });
}

std::vector<std::string> chosen(const PortfolioTable& table, std::size_t most = 8) {
  std::vector<std::string> names;
  for (const std::size_t column : table.choose(most)) {
    names.push_back(table.columns()[column].configuration);
  }
  return names;
}

}  // namespace

TEST_CASE("a portfolio begins with what is good everywhere and adds what shapes gain by") {
  PortfolioTable table;
  measure(table, 1, {1.1, 1.0, 3.0});
  measure(table, 10, {1.1, 2.0, 2.0});
  measure(table, 100, {1.0, 2.0, 2.0});
  measure(table, 1000, {1.5, 3.0, 1.0});
  CHECK(chosen(table) == std::vector<std::string>{"a=0", "a=2", "a=1"});
  CHECK(chosen(table, 1) == std::vector<std::string>{"a=0"});
}

TEST_CASE("a member that brings next to nothing is not worth its code") {
  PortfolioTable table;
  measure(table, 1, {1.0005, 1.0});
  for (int rows = 2; rows < 26; ++rows) {
    measure(table, rows, {1.0, 1.3});
  }
  CHECK(chosen(table) == std::vector<std::string>{"a=0"});
}

TEST_CASE("what brings much at the few shapes where it was timed is a member of many shapes' portfolio") {
  PortfolioTable table;
  measure(table, 1, {1.05, 1.0});
  for (int rows = 2; rows < 250; ++rows) {
    measure(table, rows, {1.0});
  }
  CHECK(chosen(table) == std::vector<std::string>{"a=0", "a=1"});
}

TEST_CASE("what was timed at hardly any of many shapes is no member, however fast") {
  PortfolioTable table;
  measure(table, 1, {2.0, 1.0});
  for (int rows = 2; rows <= 256; ++rows) {
    measure(table, rows, {1.0});
  }
  CHECK(chosen(table).size() == 2);
  measure(table, 257, {1.0});
  CHECK(chosen(table) == std::vector<std::string>{"a=0"});
}

TEST_CASE("what was wrong at one shape is no member") {
  PortfolioTable table;
  measure(table, 1, {1.5, 1.0});
  measure(table, 10, {1.5, 1.0});
  CHECK(chosen(table) == std::vector<std::string>{"a=1"});
  measure(table, 100, {1.5, -1.0});
  CHECK(chosen(table) == std::vector<std::string>{"a=0"});
}

TEST_CASE("wrong results where nothing was right count against no configuration until something is") {
  PortfolioTable table;
  measure(table, 1, {1.1, 1.0});
  measure(table, 10, {0.0, -1.0});
  CHECK(chosen(table) == std::vector<std::string>{"a=1"});
  CHECK(table.rows().size() == 1);
  measure(table, 10, {1.0});
  CHECK(chosen(table) == std::vector<std::string>{"a=0"});
}

TEST_CASE("what raced is no member, also where nothing was right, and makes no row") {
  PortfolioTable table;
  measure(table, 1, {1.1, 1.0});
  std::vector<Trial> raced = trials_of(table_spec(), {0.0, -1.0});
  table.exclude(table_shape(10), table_spec(), raced);  // a wrong result is not enough
  CHECK(chosen(table) == std::vector<std::string>{"a=1"});
  raced.front().outcome = Outcome::kRace;
  table.exclude(table_shape(10), table_spec(), raced);
  CHECK(chosen(table) == std::vector<std::string>{"a=0"});
  CHECK(table.rows().size() == 1);
}

TEST_CASE("what was wrong is no member once another is right at the shape, whichever comes first and wherever that is known from") {
  PortfolioTable table;
  measure(table, 1, {1.1, 1.0});
  const std::vector<Trial> wrong = trials_of(table_spec(), {0.0, -1.0});
  SUBCASE("in a survey that found nothing right, before a session") {
    table.exclude(table_shape(10), table_spec(), wrong);
    measure(table, 10, {1.0});
  }
  SUBCASE("in a survey that found nothing right, after a session") {
    measure(table, 10, {1.0});
    table.exclude(table_shape(10), table_spec(), wrong);
  }
  SUBCASE("before a portfolio that has the shape") {
    measure(table, 10, {0.0, -1.0});
    add_point(table, 10);
  }
  SUBCASE("after a portfolio that has the shape") {
    add_point(table, 10);
    measure(table, 10, {0.0, -1.0});
  }
  CHECK(chosen(table) == std::vector<std::string>{"a=0"});
}

TEST_CASE("slowdowns far from the best are kept in few steps, which stay as they are") {
  std::set<std::size_t> near, far;
  double last = 0.0;
  for (double logarithm = 0.0; logarithm < 1.6; logarithm += 1e-3) {
    const double coarse = coarse_slowdown(std::exp(logarithm));
    CHECK(std::abs(std::log(coarse) - logarithm) < 0.01 + 0.25 * logarithm);
    CHECK(coarse >= last);
    last = coarse;
    const std::size_t level = slowdown_level(coarse);
    CHECK(slowdown_level(coarse_slowdown(coarse)) == level);
    CHECK(slowdown_level(coarse_slowdown(std::exp(level_logarithm(level)))) == level);  // as a text has it
    (logarithm < 0.09 ? near : far).insert(level);
  }
  CHECK(near.size() >= 15);
  CHECK(far.size() <= 14);
  CHECK(coarse_slowdown(1.05) == 1.05);
}

TEST_CASE("later measurements of a shape take the place of earlier ones") {
  PortfolioTable table;
  measure(table, 1, {1.0, 2.0});
  measure(table, 1, {4.0, 0.0});
  REQUIRE(table.rows().size() == 1);
  CHECK(table.rows().front().best_us == 2.0);
  CHECK(table.rows().front().slowdowns.at(0) == 2.0);
}

TEST_CASE("a portfolio has a cell for each member and point, empty where nothing was measured") {
  PortfolioTable table;
  measure(table, 1, {1.0, 1.3});
  measure(table, 1000, {0.0, 1.0});
  measure(table, 2000, {2.0, 1.0});
  measure(table, 77, {});
  Portfolio about;
  about.range.axes = {{"rows", {{1, 4096}}, false}};
  const Portfolio made = table.portfolio(about, 8);
  REQUIRE(made.members.size() == 2);
  REQUIRE(made.points.size() == 3);
  const auto at = [&](const std::string& configuration) {
    return static_cast<std::size_t>(std::ranges::find(made.members, configuration, &PortfolioMember::configuration) - made.members.begin());
  };
  CHECK(made.points[1].find(at("a=0")) == nullptr);
  CHECK(made.points[0].find(at("a=1"))->slowdown == coarse_slowdown(1.3));
  CHECK(made.rule.reach.size() == 1);
  CHECK(text(table.portfolio(about, 8)) == text(made));
}

TEST_CASE("what a portfolio knows is measured no second time") {
  PortfolioTable table;
  measure(table, 1, {1.0, 1.3, 8.0, 1.2});
  measure(table, 1000, {3.0, 1.0, 2.0, 1.2});
  measure(table, 2000, {2.0, 1.1, 1.0, 0.0});
  Portfolio about;
  about.range.axes = {{"rows", {{1, 4096}}, false}};
  const Portfolio made = table.portfolio(about, 2);
  REQUIRE(made.members.size() == 2);

  const auto at = [](const Shape&) { return std::optional(PortfolioTable::There{{}, MemberLaunches(2)}); };
  PortfolioTable continued;
  continued.add(made, at);
  CHECK(continued.columns().size() == 2);
  CHECK(continued.holds({{"rows", 2000}}));
  CHECK(text(continued.portfolio(about, 2)) == text(made));  // the best of all at a shape is known, too, though it is no member
  measure(continued, 3000, {0.0, 1.0, 0.0, 0.0});
  CHECK(continued.rows().size() == 4);
  measure(continued, 1, {0.0, 1.5, 0.0, 0.0});  // a measurement comes before what is left of one
  const auto column = static_cast<std::size_t>(std::ranges::find(continued.columns(), "a=1", &PortfolioMember::configuration) -
                                               continued.columns().begin());
  CHECK(continued.rows().front().slowdowns.at(column) == doctest::Approx(1.5));
  CHECK(continued.rows().front().best_us == 1.0);
  continued.add(made, at);
  CHECK(continued.rows().front().slowdowns.at(column) == doctest::Approx(1.5));
  PortfolioTable none;
  none.add(made, [](const Shape&) { return std::optional<PortfolioTable::There>(); });
  CHECK(none.rows().empty());
  PortfolioTable launching;  // what members launch is asked, whatever the portfolio says
  launching.add(made, [](const Shape&) { return std::optional(PortfolioTable::There{{}, {LaunchSize{5.0, 0.5}, LaunchSize{7.0}}}); });
  CHECK(launching.rows().front().launches.at(0) == LaunchSize{5.0, 0.5});
  CHECK(launching.rows().front().launches.at(1) == LaunchSize{7.0});
}

TEST_CASE("what is to be expected of a portfolio is judged at shapes that have no part in it") {
  Portfolio about;
  about.range.axes = {{"rows", {{1, 4096}}, false}};
  PortfolioTable table;  // each shape has a winner of its own, which is slow elsewhere
  measure(table, 1, {1.0, 2.0, 2.0, 1.2});
  measure(table, 60, {2.0, 1.0, 2.0, 1.2});
  measure(table, 4000, {2.0, 2.0, 1.0, 1.2});
  Portfolio made = table.portfolio(about, 8);
  table.judge(made, 8);
  CHECK(made.expected > 1.15);
  CHECK(made.worst > 1.15);
  PortfolioTable level;  // one is the best everywhere
  for (const std::int64_t rows : {1, 60, 4000}) {
    measure(level, rows, {1.0, 2.0, 2.0, 1.2});
  }
  made = level.portfolio(about, 8);
  level.judge(made, 8);
  CHECK(made.expected == 1.0);
  PortfolioTable single;  // one was tried at each shape: nobody knows what others would have taken
  for (const std::int64_t rows : {1, 60, 4000}) {
    measure(single, rows, {1.0});
  }
  made = single.portfolio(about, 8);
  single.judge(made, 8);
  CHECK(made.expected > 1.01);
}

TEST_CASE("a table keeps what a member launches") {
  KernelSpec spec = table_spec();
  const Expression rows = Expression::variable("p.rows"), a = Expression::variable("c.a"), one = Expression::constant(1);
  spec.passes = {Pass{}};
  spec.passes.front().grid = {Expression::make(Operator::kMultiply, {rows, a}), one, one};
  PortfolioTable table;
  Trial trial;
  trial.configuration.values = {spec.parameters.front().values[5]};
  trial.outcome = Outcome::kOk;
  trial.measurement.median_us = 1.0;
  const Problem problem{DType::kF32, {{"rows", 7}}};
  table.add(problem.shape, {}, spec, problem, {}, {trial});
  CHECK(table.rows().front().launches.at(0) == LaunchSize{35.0, 0.0});
}

TEST_CASE("of more points than a portfolio keeps, those stay that say most") {
  Portfolio portfolio;
  const auto add = [&](std::int64_t rows, std::size_t measured) {
    PortfolioPoint& point = portfolio.points.emplace_back(PortfolioPoint{{{"rows", rows}}, 10.0, 10.0, {}});
    for (std::size_t member = 0; member < measured; ++member) {
      point.cells.push_back({member, 1.0, {}});
    }
  };
  add(1000, 4);
  add(1010, 8);  // near the first, and known better
  add(4, 4);
  add(64, 4);  // as little is known as of the first, but nothing is near
  add(70000, 0);
  CHECK(thinned(portfolio, 5).points.size() == 5);
  const Portfolio three = thinned(portfolio, 3);
  REQUIRE(three.points.size() == 3);
  CHECK(three.points[0].shape[0].second == 1010);  // in their order
  CHECK(three.points[1].shape[0].second == 4);
  CHECK(three.points[2].shape[0].second == 64);
}

TEST_CASE("the floor of any work is the shortest time and what it takes at the best rates of all rows") {
  PortfolioTable table;
  CHECK(table.floor_us({1e6, 1e6}) == 0.0);  // nothing is known
  const KernelSpec spec = table_spec();
  const Work little{100.0, 0.0}, much{400.0, 1000.0};
  table.add({{"n", 1}}, little, spec, {}, {}, trials_of(spec, {10.0}));
  table.add({{"n", 2}}, much, spec, {}, {}, trials_of(spec, {20.0}));
  CHECK(table.floor_us({200.0, 500.0}) == doctest::Approx(10.0 + 200.0 / 20.0 + 500.0 / 50.0));
  CHECK(table.rows().front().floor_us == table.floor_us(little));
  CHECK(table.rows().back().floor_us == table.floor_us(much));
}

}  // namespace hone
