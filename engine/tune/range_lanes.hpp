#pragma once
// The lanes of a range's run: shapes are measured side by side, each by one lane, on devices of its own.

#include <optional>
#include <vector>

#include "engine/tune/monitor.hpp"
#include "engine/tune/range_knowledge.hpp"
#include "engine/tune/range_trials.hpp"
#include "engine/tune/spending.hpp"

namespace hone {

/// What a lane has to itself.
struct RangeLane {
  RangeLane(TuneRequest own, const Operation& operation, Store& store, const Registry& registry, RangeKnowledge& knowledge,
            Monitor& monitor)
      : common(std::move(own)), trials(operation, common, store, registry, knowledge, monitor) {}

  TuneRequest common;
  RangeTrials trials;
  std::optional<Spending> spending;
  int failures_in_a_row = 0, failed_choices = 0, failed_comparisons = 0, failed_neighbours = 0, empty_turns = 0;
  std::optional<Error> last_failure;
};

/// The request of each lane, with its share of the devices, dealt out in turn, and of the processes that compile. There are no more lanes
/// than shapes; one where workers are attached, or where compiling disturbs the timing.
std::vector<TuneRequest> lanes_of(const PortfolioRequest& request);

}  // namespace hone
