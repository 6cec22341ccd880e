// What a Gaussian process of a portfolio's measurements expects of members at shapes.
#include "engine/store/measured_process.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/crossing_portfolio.hpp"
#include "tests/portfolio_cells.hpp"

namespace hone {
namespace {

Shape rows(std::int64_t count) { return {{"rows", count}, {"cols", 64}}; }

std::vector<MeasuredProcess::Expected> expected_at(const MeasuredProcess& process, const Shape& shape, std::size_t without) {
  const auto near = process.nearest(process.place(shape), without, process.points());
  return process.expect(near, process.usual_at(near), {0, 1}, MeasuredProcess::Launches(2), 100);
}

}  // namespace

TEST_CASE("the nearest points come first, as many as are asked for, and the one that is left out is none of them") {
  const MeasuredProcess process(test::crossing_portfolio());
  const MeasuredProcess::Row at = process.place(rows(64));
  const auto all = process.nearest(at, process.points(), process.points());
  REQUIRE(all.size() == 8);
  CHECK(all.front().point == 2);
  CHECK(all.front().square == 0.0);
  for (std::size_t i = 1; i < all.size(); ++i) {
    CHECK(all[i].square >= all[i - 1].square);
  }
  const auto others = process.nearest(at, 2, 3);
  REQUIRE(others.size() == 3);
  CHECK(others.front().point == 3);
}

TEST_CASE("a member is expected to take what it took, and is known less where that is further away") {
  const MeasuredProcess process(test::crossing_portfolio());
  const auto known = expected_at(process, rows(512), process.points()), left_out = expected_at(process, rows(512), 4);
  for (const std::size_t member : {0, 1}) {
    CHECK(known[member].mean == doctest::Approx(process.cells(4)[member].time).epsilon(0.02));
    CHECK(known[member].deviation < left_out[member].deviation);
    CHECK(std::abs(left_out[member].mean - process.cells(4)[member].time) < 0.1);
  }
}

TEST_CASE("the measurements nearest to members say more of them than the first ones do") {
  Portfolio portfolio = test::crossing_portfolio();
  portfolio.members.push_back({"other", "a=1"});
  portfolio.sources["other"] = "0";
  portfolio.points.back().cells.push_back({2, 1.1, {}});  // of another kernel, far away
  const MeasuredProcess process(portfolio);
  const auto near = process.nearest(process.place(rows(1)), process.points(), process.points());
  const MeasuredProcess::Usual usual = process.usual_at(near);
  const MeasuredProcess::Launches launches(3);
  const double first = process.expect(near, usual, {2}, launches, 2).front().deviation;
  const double closely = process.expect_closely(near, usual, {2}, launches, 2).front().deviation;
  CHECK(closely < first);
}

TEST_CASE("a launch counts where all measurements of a kernel have one") {
  Portfolio portfolio = test::crossing_portfolio();
  const std::vector<std::optional<LaunchSize>> launches{LaunchSize{8.0}, LaunchSize{16.0}};
  for (PortfolioPoint& point : portfolio.points) {
    test::set_launches(point, {LaunchSize{4.0}, LaunchSize{8.0}});
  }
  const auto kept = MeasuredProcess(portfolio).kept(launches);
  REQUIRE(kept.size() == 2);
  CHECK(kept[0]->blocks == 3.0);
  CHECK(kept[1]->blocks == 4.0);
  test::set_launches(portfolio.points.front(), {std::nullopt, LaunchSize{8.0}});
  const auto in_part = MeasuredProcess(portfolio).kept(launches);
  CHECK_FALSE(in_part[0]);
  CHECK_FALSE(in_part[1]);
}

}  // namespace hone
