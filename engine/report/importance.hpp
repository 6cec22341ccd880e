#pragma once
// Which parameters matter: the variance of a figure, split among parameters and pairs of them.

#include <cstddef>
#include <vector>

#include "engine/report/regression_forest.hpp"

namespace hone::report {

/// What two parameters do together beyond what each does alone.
struct PairShare {
  std::size_t first = 0, second = 0;
  double share = 0.0;
};

/// Functional ANOVA on a forest (Hutter, Hoos and Leyton-Brown 2014, proceedings.mlr.press/v32/hutter14): over all combinations of the
/// values, whether legal or not. Shares are of the variance, means over the trees.
struct Importance {
  std::vector<double> parameters;            ///< of each parameter alone
  std::vector<PairShare> pairs;              ///< every pair, the largest first
  std::vector<std::vector<double>> effects;  ///< of each parameter and value: mean figure with this value, less the mean of all
  double rest = 0.0;                         ///< of three and more parameters together
  double explained = 0.0;                    ///< Forest::explained: how far the shares can be relied on
  std::size_t observations = 0;
};

/// All zeros where there are no observations, or their figures are equal.
Importance importance(const Observations& observations);

}  // namespace hone::report
