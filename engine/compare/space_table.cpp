#include "engine/compare/space_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace hone::compare {

SpaceTable table_of(std::shared_ptr<const RecordedSpace> recorded, CostUnit unit) {
  SpaceTable table;
  const auto size = static_cast<std::size_t>(recorded->space().size());
  table.kernel = recorded->kernel_name();
  for (std::size_t i = 0; i < size; ++i) {
    const RecordedTrial& trial = *recorded->find(i);
    const bool ok = trial.outcome == Outcome::kOk;
    table.time_us.push_back(ok ? trial.time_us : std::numeric_limits<double>::infinity());
    table.seconds.push_back(trial.seconds.compile + trial.seconds.validate + trial.seconds.time);
    table.cost.push_back(unit == CostUnit::kEvaluations ? 1.0 : table.seconds.back());
    table.too_slow += trial.outcome == Outcome::kTooSlow ? 1 : 0;
    if (ok) {
      table.sorted.push_back(trial.time_us);
    }
  }
  std::ranges::sort(table.sorted);
  table.recorded = std::move(recorded);
  return table;
}

double expected_fraction(const SpaceTable& table, std::size_t draws) {
  const auto size = static_cast<double>(table.size()), drawn = static_cast<double>(draws);
  double none_better = 1.0;  // the chance that none of the draws is among the first `rank`
  double expected = 0.0;
  for (std::size_t rank = 0; rank < table.sorted.size() && none_better > 0.0; ++rank) {
    const double left = size - static_cast<double>(rank);
    const double none_here = none_better * std::max(0.0, (left - drawn) / left);
    expected += (none_better - none_here) * table.best() / table.sorted[rank];
    none_better = none_here;
  }
  return expected;
}

std::size_t draws_for(const SpaceTable& table, double cost) {
  const double mean = std::accumulate(table.cost.begin(), table.cost.end(), 0.0) / static_cast<double>(table.size());
  return mean > 0.0 ? static_cast<std::size_t>(std::min(std::floor(cost / mean), static_cast<double>(table.size()))) : table.size();
}

}  // namespace hone::compare
