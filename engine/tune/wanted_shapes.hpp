#pragma once
// Where the rule of a range would like to know more.

#include <cstdint>
#include <vector>

#include "hone/problem.hpp"
#include "hone/source.hpp"

namespace hone {

struct PortfolioRequest;
class RangeKnowledge;

/// A shape at which the rule is unsure, or expects much from tuning.
struct WantedShape {
  Shape shape;
  Prediction prediction;
};

struct WantedShapes {
  double wants_tuning = 0.0;       ///< the share of the range's shapes that are worth a search of their own,
  double unserved = 0.0;           ///< the share of its shapes where no member is legal: those among them
  std::vector<WantedShape> named;  ///< some of those that are served, at most five, the most wanted first
};

/// Asks the rule at shapes all over the range that may be legal and are no larger than the request allows. `knowledge` has a rule;
/// `generation` is that of its portfolio, in its store.
WantedShapes wanted_shapes(const PortfolioRequest& request, const RangeKnowledge& knowledge, std::int64_t generation);

}  // namespace hone
