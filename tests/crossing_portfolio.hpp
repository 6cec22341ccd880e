#pragma once
// A small portfolio for a range of rows.

#include <cmath>
#include <cstdint>

#include "engine/store/portfolio.hpp"
#include "tests/portfolio_cells.hpp"

namespace hone::test {

/// Two members: the first is fast for few rows, the second for many. They cross at 256.
inline Portfolio crossing_portfolio() {
  Portfolio made;
  made.operation = "toy";
  made.dtypes = "f32";
  made.product = "Test";
  made.sources = {{"toy", "0"}};
  made.range.axes = {{"rows", {{1, 65536}}, false}, {"cols", {{64, 64}}, false}};
  made.members = {{"toy", "a=1"}, {"toy", "a=2"}};
  for (const std::int64_t rows : {1, 8, 64, 128, 512, 1024, 8192, 65536}) {
    const double ahead = std::abs(std::log2(static_cast<double>(rows) / 256.0)) * 0.1;
    const std::vector<std::optional<double>> slowdowns =
        rows < 256 ? std::vector<std::optional<double>>{1.0, 1.0 + ahead} : std::vector<std::optional<double>>{1.0 + ahead, 1.0};
    made.points.push_back({{{"rows", rows}, {"cols", 64}}, 10.0, 10.0, cells(slowdowns)});
  }
  made.rule = {.reach = {2.0}, .alignment = 0.0, .noise = 0.01};
  return made;
}

}  // namespace hone::test
