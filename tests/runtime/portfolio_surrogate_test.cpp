// What a Gaussian process of a portfolio's measurements expects of members at shapes.
#include "engine/store/portfolio_surrogate.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/crossing_portfolio.hpp"
#include "tests/portfolio_cells.hpp"

namespace hone {
namespace {

Shape rows(std::int64_t count) { return {{"rows", count}, {"cols", 64}}; }

std::vector<PortfolioSurrogate::Prediction> expected_at(const PortfolioSurrogate& surrogate, const Shape& shape, std::size_t without) {
  const auto near = surrogate.nearest(surrogate.place(shape), without, surrogate.points());
  return surrogate.predict(near, surrogate.prior_at(near), {0, 1}, PortfolioSurrogate::Launches(2), 100);
}

}  // namespace

TEST_CASE("the nearest points come first, as many as are asked for, and the one that is left out is none of them") {
  const PortfolioSurrogate surrogate(test::crossing_portfolio());
  const PortfolioSurrogate::Row at = surrogate.place(rows(64));
  const auto all = surrogate.nearest(at, surrogate.points(), surrogate.points());
  REQUIRE(all.size() == 8);
  CHECK(all.front().point == 2);
  CHECK(all.front().square == 0.0);
  for (std::size_t i = 1; i < all.size(); ++i) {
    CHECK(all[i].square >= all[i - 1].square);
  }
  const auto others = surrogate.nearest(at, 2, 3);
  REQUIRE(others.size() == 3);
  CHECK(others.front().point == 3);
}

TEST_CASE("a member is expected to take what it took, and is known less where that is further away") {
  const PortfolioSurrogate surrogate(test::crossing_portfolio());
  const auto known = expected_at(surrogate, rows(512), surrogate.points()), left_out = expected_at(surrogate, rows(512), 4);
  for (const std::size_t member : {0, 1}) {
    CHECK(known[member].mean == doctest::Approx(surrogate.cells(4)[member].time).epsilon(0.02));
    CHECK(known[member].deviation < left_out[member].deviation);
    CHECK(std::abs(left_out[member].mean - surrogate.cells(4)[member].time) < 0.1);
  }
}

TEST_CASE("the measurements nearest to members say more of them than the first ones do") {
  Portfolio portfolio = test::crossing_portfolio();
  portfolio.members.push_back({"other", "a=1"});
  portfolio.sources["other"] = "0";
  portfolio.points.back().cells.push_back({2, 1.1, {}});  // of another kernel, far away
  const PortfolioSurrogate surrogate(portfolio);
  const auto near = surrogate.nearest(surrogate.place(rows(1)), surrogate.points(), surrogate.points());
  const PortfolioSurrogate::Prior usual = surrogate.prior_at(near);
  const PortfolioSurrogate::Launches launches(3);
  const double first = surrogate.predict(near, usual, {2}, launches, 2).front().deviation;
  const double closely = surrogate.predict_from_nearest(near, usual, {2}, launches, 2).front().deviation;
  CHECK(closely < first);
}

TEST_CASE("a launch counts where all measurements of a kernel have one") {
  Portfolio portfolio = test::crossing_portfolio();
  const std::vector<std::optional<LaunchSize>> launches{LaunchSize{8.0}, LaunchSize{16.0}};
  for (PortfolioPoint& point : portfolio.points) {
    test::set_launches(point, {LaunchSize{4.0}, LaunchSize{8.0}});
  }
  const auto kept = PortfolioSurrogate(portfolio).kept(launches);
  REQUIRE(kept.size() == 2);
  CHECK(kept[0]->blocks == 3.0);
  CHECK(kept[1]->blocks == 4.0);
  test::set_launches(portfolio.points.front(), {std::nullopt, LaunchSize{8.0}});
  const auto in_part = PortfolioSurrogate(portfolio).kept(launches);
  CHECK_FALSE(in_part[0]);
  CHECK_FALSE(in_part[1]);
}

}  // namespace hone
