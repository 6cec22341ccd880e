#pragma once
// What members took at a point, in the order of the members.

#include <optional>
#include <vector>

#include "engine/store/portfolio.hpp"

namespace hone::test {

/// `slowdowns`: of each member; none: not measured.
inline std::vector<PortfolioCell> cells(const std::vector<std::optional<double>>& slowdowns) {
  std::vector<PortfolioCell> all;
  for (std::size_t member = 0; member < slowdowns.size(); ++member) {
    if (slowdowns[member]) {
      all.push_back({member, *slowdowns[member], {}});
    }
  }
  return all;
}

/// Of each member; none: not known.
inline void set_launches(PortfolioPoint& point, const std::vector<std::optional<LaunchSize>>& launches) {
  for (PortfolioCell& cell : point.cells) {
    cell.launch = launches[cell.member];
  }
}

}  // namespace hone::test
