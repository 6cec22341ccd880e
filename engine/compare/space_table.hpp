#pragma once
// A recorded space as the laboratory reads it: flat arrays by position.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/compare/compare.hpp"

namespace hone::compare {

struct SpaceTable {
  std::shared_ptr<const RecordedSpace> recorded;
  std::string kernel;           ///< RecordedSpace::kernel_name
  std::vector<double> time_us;  ///< infinity where it was not right
  std::vector<double> seconds;  ///< what the record cost
  std::vector<double> cost;     ///< the same in the unit of the budgets
  std::vector<double> sorted;   ///< the times that are not infinite, ascending
  std::size_t too_slow = 0;     ///< those that did not fail and yet cannot be found

  [[nodiscard]] std::size_t size() const { return time_us.size(); }
  [[nodiscard]] std::size_t failed() const { return size() - sorted.size() - too_slow; }
  [[nodiscard]] double best() const { return sorted.front(); }
};

/// A space of which every configuration failed has no `sorted` and no best.
SpaceTable table_of(std::shared_ptr<const RecordedSpace> recorded, CostUnit unit);

/// The expected fraction of the optimum after `draws` draws without replacement; a draw that failed finds nothing.
double expected_fraction(const SpaceTable& table, std::size_t draws);

/// As many draws as `cost` pays for, at the mean cost.
std::size_t draws_for(const SpaceTable& table, double cost);

}  // namespace hone::compare
