// The settings of a portfolio's rule.
#include "engine/store/fit_settings.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "engine/store/portfolio_rule.hpp"
#include "tests/crossing_portfolio.hpp"

namespace hone {

TEST_CASE("settings are chosen by leaving points out") {
  Portfolio portfolio = test::crossing_portfolio();
  portfolio.rule = {.reach = {0.5}, .alignment = 2.0, .noise = 0.2};
  const double before = PortfolioRule(portfolio).leave_one_out().mean;
  portfolio.rule = fit_settings(portfolio);
  CHECK(PortfolioRule(portfolio).leave_one_out().mean <= before);
  CHECK(portfolio.rule == fit_settings(portfolio));
}

TEST_CASE("settings say how far off predictions were, and are numbers of few digits") {
  const Portfolio portfolio = test::crossing_portfolio();
  const RuleSettings settings = fit_settings(portfolio);
  CHECK(settings.reach.size() == 1);
  CHECK(settings.spread > 0.0);
  CHECK(settings.deviation > 0.0);
  CHECK(settings.spread * 1000.0 == doctest::Approx(std::round(settings.spread * 1000.0)));
}

TEST_CASE("shapes where one member was measured make no rule sure of its choices") {
  Portfolio portfolio = test::crossing_portfolio();
  for (PortfolioPoint& point : portfolio.points) {
    const auto best = std::ranges::min_element(point.cells, {}, &PortfolioCell::slowdown);
    point.cells = {{best->member, 1.0, best->launch}};
  }
  CHECK(fit_settings(portfolio).deviation == doctest::Approx(0.15));  // as before anything is known
}

}  // namespace hone
